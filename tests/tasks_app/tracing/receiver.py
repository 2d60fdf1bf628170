"""Receivers of events: an endpoint that checks signatures, and a collector that is as strict as real ones."""

import hashlib
import hmac
import json
import re
import time
from typing import Any

from tests.provider import Received, Reply

KEY = "a-key-that-signs"
_KINDS = range(1, 6)


def said(status: int, words: str = "{}") -> Reply:
    return Reply(status=status, chunks=[words.encode()], content_type="application/json")


class Endpoint:
    """An endpoint that stores the events of correctly signed, recent requests. `status` is its answer."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.status = 200

    def __call__(self, received: Received) -> Reply:
        timestamp, signature = (received.headers[f"X-Agentsite-{name}"] for name in ("Timestamp", "Signature"))
        signed = hmac.new(KEY.encode(), timestamp.encode() + b"." + received.raw, hashlib.sha256).hexdigest()
        if signature != f"sha256={signed}" or abs(time.time() - int(timestamp)) > 60:
            return said(401)
        if self.status == 200:
            self.events += received.body["events"]
        return said(self.status)

    @property
    def ids(self) -> set[str]:
        return {event["id"] for event in self.events}


class Collector:
    """A collector that parses OTLP's JSON strictly: ids in hex, 64-bit numbers as strings, numbers for
    enumerations.
    """

    def __init__(self) -> None:
        self.spans: dict[str, dict[str, Any]] = {}
        self.requests: list[Received] = []
        self.answer: Reply | None = None

    def __call__(self, received: Received) -> Reply:
        self.requests.append(received)
        if self.answer is not None:
            return self.answer
        try:
            assert received.path.endswith("/traces")
            assert received.headers["Content-Type"] == "application/json"
            for resource in received.body["resourceSpans"]:
                assert attributes(resource["resource"])["service.name"]
                for scope in resource["scopeSpans"]:
                    self._take(scope["spans"])
        except (AssertionError, KeyError, TypeError, ValueError) as error:
            return said(400, json.dumps({"code": 3, "message": repr(error)}))
        return said(200)

    def _take(self, spans: list[dict[str, Any]]) -> None:
        known = {
            "traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes",
            "status",
        }  # fmt: skip
        for span in spans:
            assert set(span) <= known, set(span) - known
            assert re.fullmatch("[0-9a-f]{32}", span["traceId"])
            assert re.fullmatch("[0-9a-f]{16}", span["spanId"])
            assert re.fullmatch("[0-9a-f]{16}", span.get("parentSpanId", "0" * 16))
            assert span["name"]
            assert span["kind"] in _KINDS
            times = [span["startTimeUnixNano"], span["endTimeUnixNano"]]
            assert all(isinstance(time, str) and time.isdecimal() for time in times), times
            assert 0 < int(times[0]) <= int(times[1])
            attributes(span)
            assert span.get("status", {}).get("code", 0) in range(3)
            self.spans[span["spanId"]] = span


def attributes(holder: dict[str, Any]) -> dict[str, Any]:
    pairs = [(pair["key"], _value(pair["value"])) for pair in holder["attributes"]]
    assert len(dict(pairs)) == len(pairs), "a key comes twice"
    return dict(pairs)


def _value(value: dict[str, Any]) -> Any:
    ((kind, inside),) = value.items()
    match kind:
        case "stringValue":
            assert isinstance(inside, str)
        case "intValue":
            assert isinstance(inside, str)
            assert re.fullmatch("-?[0-9]+", inside)
            return int(inside)
        case "doubleValue":
            assert isinstance(inside, float)
        case "boolValue":
            assert isinstance(inside, bool)
        case "arrayValue":
            return [_value(item) for item in inside["values"]]
        case _:
            raise AssertionError(f"no such kind of value: {kind}")
    return inside

"""Sending of events: as lines of a file, signed requests, or spans. When `send` returns, the sink has received
them.
"""

import hashlib
import hmac
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import orjson

from llm_app.models import ServiceKey
from tasks_app.models import SinkKind, TraceSink
from tasks_app.runtime import event_loop
from tasks_app.tracing.events import Event, as_lines
from tasks_app.tracing.otlp import requests_of
from tools_app.errors import ToolError
from tools_app.models import AllowedAddress
from tools_app.network import FetchedResponse, NetworkPolicy, OutgoingRequest
from tools_app.network import send as send_request

ROTATED_FILES = 4  # rotated files besides the current one
TIMEOUT_S = 20.0
_MAX_ANSWER_BYTES = 10_000  # bytes of an answer
_MAX_ANSWER_CHARS = 300  # characters of an answer in messages
_RETRY_STATUSES = (408, 425, 429)  # status codes for a later attempt


class SinkFailed(Exception):
    """The events have not arrived. They are sent again after at least `after` seconds."""

    def __init__(self, why: str, after: float = 0) -> None:
        super().__init__(why)
        self.after = after


def send(sink: TraceSink, events: Sequence[Event]) -> str:
    """Send events. Return a sentence about events that the sink refused for good, or "". Raises SinkFailed."""
    match sink.kind:
        case SinkKind.FILE:
            return _write(sink, as_lines(events))
        case SinkKind.HTTP:
            return _post(sink, events)
        case _:
            return _export(sink, events)


def _write(sink: TraceSink, lines: bytes) -> str:
    """Append lines and sync them to disk, after removing an incomplete line of a killed process."""
    try:
        sink.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _rotate(sink.path, sink.max_bytes - len(lines))
        with os.fdopen(os.open(sink.path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            file.truncate(_end_of_lines(file))
            file.seek(0, os.SEEK_END)
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise SinkFailed(f"{sink.path.name} cannot be written: {error.strerror}.") from error
    return ""


def _end_of_lines(file: BinaryIO) -> int:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 1, 0))
    if file.read() in (b"", b"\n"):
        return size
    file.seek(0)
    return file.read().rfind(b"\n") + 1


def _rotate(path: Path, max_bytes: int) -> None:
    """Rotate the file if it is too long."""
    with suppress(FileNotFoundError):
        if path.stat().st_size > max(max_bytes, 0):
            for number in range(ROTATED_FILES, 0, -1):
                older = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
                with suppress(FileNotFoundError):
                    older.rename(path.with_name(f"{path.name}.{number}"))


def signature(key: str, timestamp: str, body: bytes) -> str:
    """Return the signature that the receiver also computes: HMAC-SHA256 over the timestamp, a dot and the body."""
    return hmac.new(key.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def _post(sink: TraceSink, events: Sequence[Event]) -> str:
    body, timestamp = orjson.dumps({"sink": sink.name, "events": events}), str(int(time.time()))
    digest = signature(_key(sink), timestamp, body)
    _post_body(sink, body, {"X-Agentsite-Timestamp": timestamp, "X-Agentsite-Signature": f"sha256={digest}"})
    return ""


def _export(sink: TraceSink, events: Sequence[Event]) -> str:
    """Export spans. A request that the collector rejects is not sent again, as OTLP demands."""
    refused, key = "", _key(sink)
    for body in requests_of(events, with_content=sink.content):
        try:
            answer = _post_body(sink, orjson.dumps(body), {"Authorization": key} if key else {})
        except _Refused as error:
            refused = str(error)
        else:
            refused = _refused_spans(answer.body) or refused
    return refused


def _refused_spans(answer: bytes) -> str:
    try:
        partial_success = orjson.loads(answer or b"{}").get("partialSuccess") or {}
        count = int(partial_success.get("rejectedSpans") or 0)
    except (ValueError, TypeError, AttributeError):
        return ""
    if not count:
        return ""
    return f"{count} spans were refused: {str(partial_success.get('errorMessage', ''))[:_MAX_ANSWER_CHARS]}"


class _Refused(SinkFailed):
    """The server rejected the request itself."""


def _post_body(sink: TraceSink, body: bytes, headers: Mapping[str, str]) -> FetchedResponse:
    """Send a request. Raises SinkFailed unless the answer is 2xx."""
    policy = NetworkPolicy(allow_internal=frozenset(AllowedAddress.objects.values_list("address", flat=True)))
    headers = {"Content-Type": "application/json", **headers}
    request = OutgoingRequest(url=sink.url, method="POST", headers=headers, body=body)
    try:
        coroutine = send_request(request, policy, max_bytes=_MAX_ANSWER_BYTES, timeout_s=TIMEOUT_S)
        answer = event_loop.submit(coroutine).result(TIMEOUT_S + 10)
    except (ToolError, TimeoutError) as error:
        raise SinkFailed(str(error) or "No answer in time.") from error
    if 200 <= answer.status < 300:
        return answer
    message = f"The server answered {answer.status}: {answer.body.decode(errors='replace')[:_MAX_ANSWER_CHARS]}"
    if 400 <= answer.status < 500 and answer.status not in _RETRY_STATUSES:
        raise _Refused(message)
    raise SinkFailed(message, answer.retry_after)


def _key(sink: TraceSink) -> str:
    row = ServiceKey.objects.filter(name=sink.key_name).first()
    return row.value if row else ""

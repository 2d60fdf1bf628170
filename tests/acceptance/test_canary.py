"""Fifty secrets that are written, printed, encoded, cut and echoed in an entire server, and must appear nowhere."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

import pytest

from tests.acceptance import canary
from tests.provider import FakeProvider, Reply, openai_call, openai_chunk, running, sse
from tests.server import Server, configured
from tests.waiting import until

CONFIG = """
providers:
  - {name: fake, protocol: openai_native, base_url: "ADDRESS", api_key: "sk-provider-key-0a1B2c3D4e"}
models:
  - {name: default, providers: [{provider: fake, model: m}]}
"""
VALUES = canary.secrets()
OLD = {name: VALUES.pop(name) for name in ("S0", "S1", "S2", "S3", "S4")}  # in texts before they are saved
KEY = {"provider.fake": "sk-provider-key-0a1B2c3D4e"}
ENCODE = """
import base64, html, json, os, sys, urllib.parse
for v in sys.argv[1:]:
    d = v.encode()
    print(v, json.dumps(v), json.dumps(json.dumps(v)), repr(v), urllib.parse.quote(v), urllib.parse.quote_plus(v))
    print(html.escape(v), d.hex(), d.hex(" "), d.hex().upper())
    for before in (b"", b"u", b"u:"):
        print(base64.b64encode(before + d + b"z").decode(), base64.encodebytes(before * 9 + d + b"!").decode())
sys.stdout.flush()
for v in sys.argv[1:]:
    for c in v:
        sys.stdout.write(c)
        sys.stdout.flush()
"""
_ids = count()


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with running() as provider:
        yield provider


@pytest.fixture
def server(provider: FakeProvider, tmp_path: Path) -> Iterator[Server]:
    server = configured(tmp_path, CONFIG.replace("ADDRESS", provider.base_url), LOG_LEVEL="INFO")
    yield server.start()
    server.kill()


def call(tool: str, pieces: int = 40, **arguments: Any) -> Reply:
    """Return a call whose arguments arrive in many parts."""
    return openai_call(tool, arguments, call_id=f"call_{next(_ids)}", pieces=pieces)


def thinking(text: str, reply: Reply) -> Reply:
    """Return thoughts and text before the call, three characters at a time."""
    pieces = [text[start : start + 3] for start in range(0, len(text), 3)]
    said = [openai_chunk({"reasoning_content": piece}) for piece in pieces]
    said += [openai_chunk({"content": piece}) for piece in pieces]
    return Reply(chunks=[*sse(*said), *reply.chunks])


def some(first: int, last: int) -> str:
    return " and ".join(VALUES[f"S{number}"] for number in range(first, last))


def test_no_secret_appears_anywhere(server: Server, provider: FakeProvider) -> None:
    person = canary.Person(server)
    session = server.call("POST", "sessions/", {"title": "Canary"})["id"]
    use_secrets_before_they_are_saved(server, provider, session)
    for name, value in {**VALUES, **OLD}.items():
        kept = server.call("POST", "secrets/", {"name": name, "value": value})
        assert (kept["found"] > 0) == (name in OLD), name
    before = len(provider.received)
    with canary.listening(server, person, session) as heard:
        until(lambda: b"event: state" in heard["events"] and heard["websocket"], 20)
        use_all_secrets(server, provider, session)
        until(lambda: heard["events"].count(b"event: entry") >= len(server.entries(session)), 20)
    restored = (server.var / "workspaces" / session / "settings.env").read_text()
    assert all(value in restored for value in VALUES.values()), "no placeholder was filled"
    request_a_missing_address(server)
    pages = shown(server, person, session)
    requests = {f"request {number}": got.raw for number, got in enumerate(provider.received[before:])}
    server.stop()
    everywhere = {**pages, **requests, **{name: bytes(text) for name, text in heard.items()}}
    assert canary.hits(everywhere, {**VALUES, **OLD, **KEY}) == []
    assert canary.hits(canary.files(server.var), VALUES) == []
    log = server.output.read_bytes()
    assert b"[secret:S10]" in log, "the log said nothing of it"
    assert canary.hits({"log": log}, {**VALUES, **OLD, **KEY}) == []
    told = canary.tables(server.var)
    del told["task_context"], told["blobs"]  # older entries and their requests stay unchanged
    assert canary.hits(told, {**OLD, **KEY}) == []
    assert b"[secret:S10]" in b"".join(everywhere.values()), "nothing was redacted"


def use_secrets_before_they_are_saved(server: Server, provider: FakeProvider, session: str) -> None:
    said = " and ".join(OLD.values())
    provider.replies = [
        thinking(said, call("plan", steps=[{"title": said, "status": "done"}])),
        call("shell", command=f"cat <<'END'\n{said}\nEND"),
        call("message", type="result", text=said, suggestions=[said]),
    ]
    run(server, session, said)


def use_all_secrets(server: Server, provider: FakeProvider, session: str) -> None:
    """Use some secrets in each kind of text, and print all of them in all encodings."""
    placeholders = " ".join(f"'[secret:{name}]'" for name in VALUES)
    provider.replies = [
        thinking(some(5, 10), call("plan", steps=[{"title": some(5, 8), "status": "in_progress"}])),
        Reply(status=500, content_type="application/json", chunks=[json.dumps({"error": some(10, 14)}).encode()]),
        cut_an_answer(some(14, 16)),
        call("file", action="write", path="encode.py", content=ENCODE),
        call("file", action="write", path="settings.env", content="\n".join(f"[secret:{name}]" for name in VALUES)),
        call("file", action="read", path="settings.env"),
        call("shell", command=f"python3 encode.py {placeholders}"),
        call("shell", command=f"cat > raw.txt <<'END'\n{some(16, 22)}\nEND\ncat raw.txt settings.env >&2; exit 3"),
        call("match", action="grep", pattern=".", path="settings.env"),
        call("no_such_tool", thing=some(22, 24)),
        openai_call("file", '{"action": "read", "path": ' + json.dumps(some(24, 26)), call_id=f"call_{next(_ids)}"),
        call("file", action="read", path=some(26, 28).replace("\n", " ")),
        call("fetch_url", url=f"http://127.0.0.1:9/?q={VALUES['S30']}"),
        Reply(
            chunks=sse(openai_chunk({"content": f"No call, but {some(28, 31)}"}), openai_chunk({}, "stop"), "[DONE]")
        ),
        call("shell", command=f"git push --force {VALUES['S35']}"),
        call("message", pieces=200, type="info", text=some(31, 36)),
        call("message", pieces=90, type="ask", text=some(36, 39)),
        call("message", pieces=300, type="result", text=some(39, 45), suggestions=[some(45, 50)]),
    ]
    task = server.call("POST", f"sessions/{session}/messages/", {"content": f"Here: {some(5, 50)}"})["task"]
    pending = until(lambda: ended_or_waits(server, task), 120)
    assert pending["kind"] == "approval", server.task(task)
    assert "[secret:S35]" in json.dumps(pending)
    server.call("POST", f"tasks/{task}/approval/", {"decision": "reject", "note": some(5, 9)})
    server.until_task(task, 60, waiting_for="reply")
    server.call("POST", f"tasks/{task}/reply/", {"content": some(9, 20)})
    server.until_task(task, 60, state="done")


def request_a_missing_address(server: Server) -> None:
    """Request a missing address, which the log names."""
    with pytest.raises(HTTPError):
        server.call("GET", f"{quote(some(10, 12))}/?q={quote(VALUES['S12'], safe='')}")


def cut_an_answer(text: str) -> Reply:
    """Run a task whose answer ends in the middle of a secret."""
    return openai_call("message", {"type": "info", "text": text + text[:10]}, call_id="call_cut", pieces=100, cut=True)


def ended_or_waits(server: Server, task: str) -> Any:
    now = server.task(task)
    assert now["state"] != "failed", now["failure"]
    return now["pending"]


def run(server: Server, session: str, content: str) -> None:
    task = server.call("POST", f"sessions/{session}/messages/", {"content": content})["task"]
    server.until_task(task, 60, state="done")


def shown(server: Server, person: canary.Person, session: str) -> dict[str, bytes]:
    """Return pages, API responses, and the admin's lists and details of the rows of tasks."""
    paths = ["/", f"/s/{session}/", "/settings/", "/usage/", "/admin/"]
    kinds = ("session", "task", "contextentry", "toolcalllog", "inboxmessage", "approval")
    lists = [f"/admin/tasks_app/{kind}/" for kind in kinds] + [f"/admin/llm_app/{kind}/" for kind in ("llmlog", "blob")]
    pages = {path: person.page(path) for path in [*paths, *lists]}
    for path in lists:
        rows = sorted(
            {part for part in pages[path].decode().split('"') if part.startswith(path) and "/change/" in part}
        )
        pages |= {row: person.page(row) for row in rows[:12]}
    rest = ["sessions/", f"sessions/{session}/", f"sessions/{session}/entries/?limit=1000", "tasks/", "secrets/"]
    return {**pages, **{path: server.raw(path) for path in rest}}

"""Three providers behind one model, as a user sees them: one is busy, one breaks off, and the third answers."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.test_main_job import start
from tests.provider import FakeProvider, Reply, openai_call, openai_result, running
from tests.server import Server, configured

ANSWER = "The whole answer, from the third."
NAMES = ("busy", "broken", "working")
MODELS = ("first", "second", "third")  # one per test, as the state of their breakers remains
PROVIDER = """
  - name: PROVIDER
    protocol: openai_native
    base_url: ADDRESS
    api_key: sk-a-key
    breaker: {min_calls: 1, failure_ratio: 1, cooldown_s: 600}"""


@pytest.fixture(scope="module")
def _running() -> Iterator[list[FakeProvider]]:
    with running() as first, running() as second, running() as third:
        yield [first, second, third]


@pytest.fixture
def providers(_running: list[FakeProvider]) -> list[FakeProvider]:
    half = openai_call("message", {"type": "result", "text": "The whole an"}, pieces=4, cut=True)
    replies = [Reply(status=429, chunks=[b"slow down"]), half, openai_result(ANSWER, stall_at=2, stall_s=0.1)]
    for provider, reply in zip(_running, replies, strict=True):
        provider.replies = [reply]
        provider.received.clear()
    return _running


@pytest.fixture(scope="module")
def failing(_running: list[FakeProvider], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Each model has separate providers, which answer alike."""
    providers = models = ""
    for model in MODELS:
        names = [f"{name}-{model}" for name in NAMES]
        for name, provider in zip(names, _running, strict=True):
            providers += PROVIDER.replace("PROVIDER", name).replace("ADDRESS", provider.base_url)
        routes = ", ".join(f"{{provider: {name}, model: m}}" for name in names)
        models += f"\n  - {{name: {model}, providers: [{routes}]}}"
    server = configured(tmp_path_factory.mktemp("failing"), f"providers:{providers}\nmodels:{models}\n").start()
    yield server
    server.kill()


class Screen:
    """The running text of a page: deltas extend it, a reset removes a stream, and an entry replaces it."""

    def __init__(self) -> None:
        self.streams: dict[str, str] = {}
        self.seen: list[str] = []

    def show(self, event: dict[str, Any]) -> None:
        data = event["data"]
        if event["event"] == "delta" and data["kind"] == "text":
            text = self.streams.get(data["stream"], "")
            assert data["offset"] == len(text), "a piece is missing, or came twice"
            self.streams[data["stream"]] = text + data["text"]
        elif event["event"] == "reset":
            self.streams.pop(data["stream"], None)
        elif event["event"] == "entry":
            self.streams.pop(data["metadata"].get("stream", ""), None)
        self.seen.append("".join(self.streams.values()))


def test_failover_completes_once_with_one_notice_and_no_repeated_text(
    failing: Server, providers: list[FakeProvider]
) -> None:
    session, task = start(failing, "Go.", model="first")
    screen = Screen()
    for event in failing.events(session):
        screen.show(event)
        if event["event"] == "state" and event["data"]["state"] in ("done", "failed"):
            break
    assert failing.task(task)["final_result"]["text"] == ANSWER
    assert all(ANSWER.startswith(text) for text in screen.seen)
    entries = failing.entries(session)
    assert [entry["context_type"] for entry in entries if entry["in_context"]].count("ai_message") == 1
    notices = [entry["content"] for entry in entries if entry["context_type"] == "status_notice"]
    assert notices == ["The model provider has too many requests right now. Another provider takes over."]
    partials = [entry for entry in entries if entry["metadata"].get("discarded")]
    assert [partial["content"] for partial in partials] == ["The whole an"]
    assert [len(provider.received) for provider in providers] == [1, 1, 1]
    assert "The whole an" not in providers[2].received[0].raw.decode()


def test_open_breakers_skip_failing_providers_without_a_notice(failing: Server, providers: list[FakeProvider]) -> None:
    session, task = start(failing, "Go.", model="second")
    failing.until_task(task, state="done")
    again = failing.call("POST", f"sessions/{session}/messages/", {"content": "Once more."})["task"]
    failing.until_task(again, state="done")
    assert [len(provider.received) for provider in providers] == [1, 1, 2]
    notices = [e for e in failing.entries(session) if e["task"] == again and e["context_type"] == "status_notice"]
    assert notices == []


def test_only_the_administrator_sees_which_provider_rejects_its_key(
    failing: Server, providers: list[FakeProvider]
) -> None:
    for provider in providers:
        provider.replies = [Reply(status=401, chunks=[b"no such key: sk-a-key"])]
    session, task = start(failing, "Go.", model="third")
    failure = failing.until_task(task, state="failed")["failure"]
    assert failure["code"] == "authentication"
    shown = str(failing.entries(session)) + str(failure)
    assert not [name for name in (*NAMES, "sk-a-key") if name in shown]
    log = failing.output.read_text()
    assert "provider busy-third: breaker closed → open. It does not accept its key." in log
    assert "sk-a-key" not in log

"""Tests of a real model over real HTTP. It is too small to drive an agent, but any reply must lead to a correct record
and a clean end.
"""

import time
from collections import Counter

import pytest

from tests.server import Server
from tests.waiting import check_bound, until

pytestmark = pytest.mark.real
LONG = 900  # seconds on two slow cores


def ask(server: Server, text: str) -> tuple[str, str]:
    session = server.call("POST", "sessions/", {"model": "small"})["id"]
    return session, server.call("POST", f"sessions/{session}/messages/", {"content": text})["task"]


def check_record(server: Server, session: str) -> list[str]:
    """Check the rules of the record, and return the types of its entries."""
    entries = server.entries(session)
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    calls = [entry["tool_call"]["id"] for entry in entries if entry["tool_call"]]
    results = [entry["tool_call_id"] for entry in entries if entry["context_type"] == "tool_result"]
    assert calls == results
    return [entry["context_type"] for entry in entries]


@pytest.mark.parametrize("text", ["Say hello.", "Call the tool `plan` with action advance.", "Count from 1 to 5."])
def test_any_reply_leads_to_a_clean_end(real_server, text):
    session, task = ask(real_server, text)
    ended = until(lambda: (t := real_server.task(task))["state"] in ("done", "failed") and t, LONG, every=0.5)
    assert ended["usage"]["output_tokens"] > 0, "the model was asked, and answered"
    print(f"\n{text!r}: {ended['state']} {ended['failure']} {Counter(check_record(real_server, session))}")
    if ended["state"] == "failed":
        assert ended["failure"]["code"] in ("no_tool_call", "tool_loop", "max_iterations")
        assert ended["failure"]["detail"]


def test_stop_takes_effect_immediately(real_server):
    session, task = ask(real_server, "Tell me a very long story.")
    real_server.until_task(task, 60, state="thinking")
    began = time.monotonic()
    real_server.call("POST", f"tasks/{task}/stop/")
    ended = real_server.until_task(task, 5, state="failed")
    print(f"\nstopped after {time.monotonic() - began:.2f} s")
    assert ended["failure"]["code"] == "stopped"
    check_bound(time.monotonic() - began, 1.5)
    check_record(real_server, session)


def test_interjection_takes_effect_immediately(real_server):
    session, task = ask(real_server, "Tell me a very long story.")
    real_server.until_task(task, 60, state="thinking")
    real_server.call("POST", f"sessions/{session}/messages/", {"content": "Shorter, please."})

    def taken_up() -> bool:
        return any(entry["content"] == "Shorter, please." for entry in real_server.entries(session))

    until(taken_up, 2)
    real_server.call("POST", f"tasks/{task}/stop/")
    real_server.until_task(task, 5, state="failed")
    check_record(real_server, session)

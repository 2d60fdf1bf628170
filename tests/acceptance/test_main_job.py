"""The main job over REST, as a user's program does it."""

import threading
from itertools import accumulate
from typing import Any

from tests.server import Server
from tests.tasks_app.engine.conftest import call, result, script

# Streamed for two seconds, so that a busy machine also shows several parts of it.
ANSWER = " ".join(["The file is there."] * 10)


def start(server: Server, content: str, model: str = "script") -> tuple[str, str]:
    session = server.call("POST", "sessions/", {"model": model})["id"]
    answer = server.call("POST", f"sessions/{session}/messages/", {"content": content})
    assert answer["delivered_as"] == "started"
    return session, answer["task"]


def test_message_creates_a_workspace_file_and_events(server):
    write = call("file", action="write", path="hello.txt", content="Hello, team.\n")
    session, task = start(server, script(write, {**result(ANSWER), "pace": 0.05}))
    seen: list[Any] = []
    for event in server.events(session):
        seen.append(event)
        if event["event"] == "state" and event["data"]["state"] == "done":
            break
    assert server.raw(f"sessions/{session}/files/hello.txt") == b"Hello, team.\n"
    assert server.task(task)["final_result"]["text"] == ANSWER
    entries = [int(event["id"]) for event in seen if event["event"] == "entry"]
    assert entries == list(range(1, len(entries) + 1))
    assert all("id" not in event for event in seen if event["event"] != "entry")
    texts = [event["data"] for event in seen if event["event"] == "delta" and event["data"]["kind"] == "text"]
    shown = "".join(delta["text"] for delta in texts)
    assert len(texts) > 1
    assert ANSWER.startswith(shown)
    assert [delta["offset"] for delta in texts] == [
        len(before) for before in accumulate([""] + [delta["text"] for delta in texts[:-1]])
    ]


def test_task_begins_with_a_hint_for_matching_messages(server):
    def hints(words):
        session, task = start(server, f"{words}\n{script(result())}")
        server.until_task(task, state="done")
        return [entry for entry in server.entries(session)[:3] if entry["metadata"].get("kind") == "routing"]

    (hint,) = hints("Research the tides for a report on Brest.")
    assert hint["metadata"]["rules"] == ["research", "writing"]
    assert "open a page before you quote it" in hint["content"]
    assert hints("What is two and two?") == []


def test_demo_tour_runs_from_question_to_approval_to_result(server):
    session, task = start(server, "Show me what you can do.", model="tour")
    pending = server.until_task(task, waiting_for="reply")["pending"]
    assert pending["name"] == "message"
    server.call("POST", f"tasks/{task}/reply/", {"content": "Yes, please"})
    pending = server.until_task(task, waiting_for="approval")["pending"]
    assert pending["name"] == "shell"
    assert "rm -rf drafts" in pending["arguments"]["command"]
    server.call("POST", f"tasks/{task}/approval/", {"decision": "approve"})
    assert server.until_task(task, state="done")["final_result"]["attachments"] == ["report.md"]
    assert b"Written on Linux" in server.raw(f"sessions/{session}/files/report.md")


def test_event_stream_resumes_without_gaps_or_repeats(server):
    steps = [call("file", action="list", path=".")] * 3
    session, task = start(server, script(*steps, result()))
    server.until_task(task, state="done")
    whole = [event["id"] for event in first(server, session, 10) if event["event"] == "entry"]
    rest = [event["id"] for event in first(server, session, 6, **{"Last-Event-ID": "4"}) if event["event"] == "entry"]
    assert rest == whole[4:]


def test_stop_takes_effect_while_the_model_stalls(server):
    _, task = start(server, script({**result(), "stall": 60}))
    server.until_task(task, state="thinking")
    server.call("POST", f"tasks/{task}/stop/")
    ended = server.until_task(task, 10, state="failed")
    assert (ended["failure"]["code"], ended["stopped"]) == ("stopped", True)


def test_interjection_reaches_a_running_command(server):
    session, task = start(server, script(call("shell", command="sleep 60"), result()))
    server.until_task(task, state="executing_tool")
    answer = server.call("POST", f"sessions/{session}/messages/", {"content": "Never mind, finish."})
    assert answer == {"task": task, "delivered_as": "interjected"}
    server.until_task(task, 20, state="done")
    results = [e for e in server.entries(session) if e["context_type"] == "tool_result"]
    assert results[0]["metadata"]["status"] == "interrupted"


def test_many_sessions_run_concurrently(server):
    started = []
    lock = threading.Lock()

    def one() -> None:
        pair = start(server, script({**call("file", action="list", path="."), "delay": 0.5}, result()))
        with lock:
            started.append(pair)

    threads = [threading.Thread(target=one) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _, task in started:
        server.until_task(task, state="done")


def first(server: Server, session: str, count: int, **headers: str) -> list[Any]:
    events = []
    for event in server.events(session, **headers):
        events.append(event)
        if len(events) == count:
            return events
    return events

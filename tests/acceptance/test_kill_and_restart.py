"""`kill -9` of the server, and a new start: nothing lost, nothing doubled, nothing stuck."""

import subprocess
import time
from pathlib import Path

from tests.acceptance.test_main_job import start
from tests.server import Server
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import check_bound, until


def check_record(server: Server, session: str) -> None:
    entries = server.entries(session)
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    calls = [entry["tool_call"]["id"] for entry in entries if entry["tool_call"]]
    results = [entry["tool_call_id"] for entry in entries if entry["context_type"] == "tool_result"]
    assert sorted(calls) == sorted(results)


def test_in_the_middle_of_a_shell_command(mortal_server):
    marker = f"sleep 61.{mortal_server.port}"
    session, task = start(mortal_server, script(call("shell", command=marker), result("I checked.")))
    until(lambda: _processes(marker))
    mortal_server.kill()
    mortal_server.start()
    assert mortal_server.until_task(task, state="done")["final_result"]["text"] == "I checked."
    check_record(mortal_server, session)
    statuses = [
        e["metadata"].get("status") for e in mortal_server.entries(session) if e["context_type"] == "tool_result"
    ]
    assert statuses == ["unknown", "succeeded"]
    until(lambda: not _processes(marker))


def test_in_the_middle_of_an_answer(mortal_server):
    session, task = start(mortal_server, script({**result("The whole answer."), "stall": 2, "pace": 0.01}))
    deltas = (e for e in mortal_server.events(session) if e["event"] == "delta" and e["data"]["kind"] == "text")
    next(deltas)
    mortal_server.kill()
    mortal_server.start()
    assert mortal_server.until_task(task, state="done")["final_result"]["text"] == "The whole answer."
    check_record(mortal_server, session)


def test_while_a_question_waits(mortal_server):
    session, task = start(mortal_server, script(call("message", type="ask", text="Which?"), result()))
    mortal_server.until_task(task, waiting_for="reply")
    mortal_server.kill()
    mortal_server.start()
    assert mortal_server.task(task)["pending"]["kind"] == "reply"
    mortal_server.call("POST", f"tasks/{task}/reply/", {"content": "That one."})
    mortal_server.until_task(task, state="done")
    check_record(mortal_server, session)


def test_ctrl_c_ends_the_whole_process_tree_and_the_task_goes_on_later(mortal_server):
    marker = f"sleep 62.{mortal_server.port}"
    session, task = start(mortal_server, script(call("shell", command=marker), result()))
    until(lambda: _processes(marker))
    mortal_server.stop()
    until(lambda: not _processes(marker))
    mortal_server.start()
    mortal_server.until_task(task, state="done")
    check_record(mortal_server, session)


def test_the_second_start_is_quick(mortal_server):
    check_bound(_seconds_of_a_start(mortal_server), 5)


def _seconds_of_a_start(server: Server) -> float:
    """Less those in which its main thread was ready to run and waited for a core: other tests run beside it."""
    server.stop()
    began = time.monotonic()
    server.start()
    took = time.monotonic() - began
    assert server.process is not None
    _, waited, _ = Path(f"/proc/{server.process.pid}/schedstat").read_text().split()  # nanoseconds
    return took - int(waited) / 1e9


def _processes(marker: str) -> list[str]:
    found = subprocess.run(["pgrep", "-f", "-x", marker], capture_output=True, text=True, check=False)
    return found.stdout.split()

"""A restart after `kill -9` of the server: nothing is lost, repeated or stuck."""

import subprocess
import time
from pathlib import Path

from tests.acceptance.test_delegated_trees import children_of, places, results, tree
from tests.acceptance.test_main_job import start
from tests.server import Server
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import check_bound, until

LONG = 2.0  # seconds of a reply, in which other tasks advance


def check_record(server: Server, session: str) -> None:
    entries = server.entries(session)
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    calls = [entry["tool_call"]["id"] for entry in entries if entry["tool_call"]]
    results = [entry["tool_call_id"] for entry in entries if entry["context_type"] == "tool_result"]
    assert sorted(calls) == sorted(results)


def test_kill_during_a_shell_command(mortal_server):
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


def test_kill_during_an_answer(mortal_server):
    session, task = start(mortal_server, script({**result("The whole answer."), "stall": 2, "pace": 0.01}))
    deltas = (e for e in mortal_server.events(session) if e["event"] == "delta" and e["data"]["kind"] == "text")
    next(deltas)
    mortal_server.kill()
    mortal_server.start()
    assert mortal_server.until_task(task, state="done")["final_result"]["text"] == "The whole answer."
    check_record(mortal_server, session)


def test_kill_while_a_question_waits(mortal_server):
    session, task = start(mortal_server, script(call("message", type="ask", text="Which?"), result()))
    mortal_server.until_task(task, waiting_for="reply")
    mortal_server.kill()
    mortal_server.start()
    assert mortal_server.task(task)["pending"]["kind"] == "reply"
    mortal_server.call("POST", f"tasks/{task}/reply/", {"content": "That one."})
    mortal_server.until_task(task, state="done")
    check_record(mortal_server, session)


def test_kill_while_tasks_delegate(mortal_server):
    """The four tasks have delegated nothing yet, or have children that run, have partly ended, or all ended."""
    delays = {"none": [0] * 4, "all": [LONG] * 4, "some": [0, 0, LONG, LONG], "no more": [0] * 4}
    trees = {name: _traced(mortal_server, each, LONG if name == "none" else 0) for name, each in delays.items()}
    until(lambda: _states(mortal_server, trees["some"]).count("done") >= 2)
    until(lambda: _states(mortal_server, trees["no more"]) == ["done"] * 4)
    mortal_server.kill()
    mortal_server.start()
    worked = {name: _check_tree(mortal_server, session, task) for name, (session, task) in trees.items()}
    assert (worked["no more"], worked["some"] >= 2) == (4, True)


def _traced(server: Server, delays: list[float], delay: float) -> tuple[str, str]:
    """Return a session and a task whose children leave a trace each time they work."""
    trace = call("shell", command="echo once >> trace")
    parts = [script({**trace, "delay": each}, result(f"Part {number}.")) for number, each in enumerate(delays)]
    return start(server, tree(*parts, delay=delay))


def _states(server: Server, started: tuple[str, str]) -> list[str]:
    return [child["state"] for child in children_of(server, started[1])]


def _check_tree(server: Server, session: str, task: str) -> int:
    """Check that no child worked twice and no result was lost. Children killed in their command have not worked."""
    server.until_task(task, state="done")
    check_record(server, session)
    [delegated, _] = results(server, session)
    said = [f"Part {number}." for number in range(4)]
    assert places(delegated["content"], said) == sorted(places(delegated["content"], said))
    children = children_of(server, task)
    assert [child["state"] for child in children] == ["done"] * 4
    for child in children:
        check_record(server, child["session"])
    outcomes = [results(server, child["session"])[0]["metadata"]["status"] for child in children]
    assert set(outcomes) <= {"succeeded", "unknown"}
    traces = [path.read_text() for path in (server.var / "workspaces" / session).glob("children/*/trace")]
    assert all(trace.count("once") == 1 for trace in traces)
    assert outcomes.count("succeeded") <= len(traces)
    return len(traces)


def test_ctrl_c_ends_the_process_tree_and_the_task_continues_later(mortal_server):
    marker = f"sleep 62.{mortal_server.port}"
    session, task = start(mortal_server, script(call("shell", command=marker), result()))
    until(lambda: _processes(marker))
    mortal_server.stop()
    until(lambda: not _processes(marker))
    mortal_server.start()
    mortal_server.until_task(task, state="done")
    check_record(mortal_server, session)


def test_second_start_is_quick(mortal_server):
    check_bound(_seconds_of_a_start(mortal_server), 5)


def _seconds_of_a_start(server: Server) -> float:
    """Return the duration of a start, without the time that its main thread waited for a core: other tests run too."""
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

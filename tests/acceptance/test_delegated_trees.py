"""A task that delegates to eight others, on a real server: results, stop, time, and questions of a child."""

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

from tests.acceptance.canary import Person
from tests.acceptance.test_main_job import start
from tests.server import ROOT, Server
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import check_bound, takes_less_than, until

CHILDREN = 8


def tree(*parts: str, delay: float = 0) -> str:
    """Return the script of a parent that delegates these tasks and ends."""
    delegates = call("delegate", tasks=[{"instruction": part} for part in parts])
    return script({**delegates, "delay": delay}, result("All of them."))


def children_of(server: Server, task: str) -> list[Any]:
    """Return the children in the order of the call's list."""
    found: list[Any] = server.call("GET", f"tasks/?parent={task}")["results"]
    return found[::-1]


def results(server: Server, session: str) -> list[Any]:
    return [entry for entry in server.entries(session) if entry["context_type"] == "tool_result"]


def places(text: str, of: list[str]) -> list[int]:
    """Return the position of each text, which occurs once."""
    assert [text.count(each) for each in of] == [1] * len(of), text
    return [text.index(each) for each in of]


def test_results_of_eight_children_are_ordered_and_requests_can_be_rebuilt(server):
    said = [f"Part {number} is there." for number in range(CHILDREN)]
    steps = [call("file", action="write", path=f"{number}.txt", content="x") for number in range(4)]
    session, task = start(server, tree(*(script(*steps, result(text)) for text in said)))
    assert server.until_task(task, state="done")["final_result"]["text"] == "All of them."
    content = results(server, session)[0]["content"]
    assert places(content, said) == sorted(places(content, said))
    assert [child["iteration"] for child in children_of(server, task)] == [5] * CHILDREN
    assert server.raw(f"sessions/{session}/files/children/8/3.txt") == b"x"
    verify = [sys.executable, "manage.py", "replay", "--all", "--verify"]
    found = subprocess.run(verify, cwd=ROOT, env=server.environment, capture_output=True, text=True, check=False)
    assert " 0 mismatches" in found.stdout, found.stdout + found.stderr


def test_stop_ends_the_entire_tree_immediately(server):
    _, task = start(server, tree(*[script({**result(), "stall": 60})] * CHILDREN))
    until(lambda: [child["state"] for child in children_of(server, task)] == ["thinking"] * CHILDREN)
    began = datetime.now(UTC)
    server.call("POST", f"tasks/{task}/stop/")
    parent = server.until_task(task, state="failed")
    until(lambda: {child["state"] for child in children_of(server, task)} == {"failed"})
    tasks = [parent, *children_of(server, task)]
    assert all(each["stopped"] for each in tasks)
    took = (max(moment(each, "ended_at") for each in tasks) - began).total_seconds()
    check_bound(took, 1)


def test_interjection_reaches_a_parent_with_running_children(server):
    parts = [script(result("Part 1 is there.")), script({**result(), "stall": 60})]
    session, task = start(server, tree(*parts))
    until(lambda: [child["state"] for child in children_of(server, task)] == ["done", "thinking"])
    answer = server.call("POST", f"sessions/{session}/messages/", {"content": script(result("As you wish."))})
    assert answer == {"task": task, "delivered_as": "interjected"}
    with takes_less_than(5):
        assert server.until_task(task, state="done")["final_result"]["text"] == "As you wish."
    assert "Part 1 is there." in results(server, session)[0]["content"]
    until(lambda: [child["state"] for child in children_of(server, task)] == ["done", "failed"])


def moment(task: Any, field: str) -> datetime:
    return datetime.fromisoformat(task[field])


def test_answered_child_lets_its_parent_continue(server):
    asks = script(call("message", type="ask", text="Which of them?"), result("That one."))
    risky = script(call("shell", command="git push --force"), result("They are gone."))
    session, task = start(server, tree(asks, risky))
    asking, deciding = until(lambda: children_of(server, task))
    assert (asking["parent"], deciding["parent"]) == (task, task)
    assert server.until_task(asking["id"], waiting_for="reply")["pending"]["text"] == "Which of them?"
    assert "git push" in server.until_task(deciding["id"], waiting_for="approval")["pending"]["arguments"]["command"]
    assert server.task(task)["waiting_for"] == "children"
    assert deciding["id"] in [approval["task"] for approval in server.call("GET", "approvals/")["results"]]
    inbox = Person(server).page("/inbox/").decode()
    assert all(f'href="/s/{child["session"]}/#' in inbox for child in (asking, deciding))
    server.call("POST", f"tasks/{asking['id']}/reply/", {"content": "The first."})
    server.call("POST", f"tasks/{deciding['id']}/approval/", {"decision": "approve"})
    server.until_task(task, state="done")
    content = results(server, session)[0]["content"]
    places(content, ["That one.", "They are gone."])

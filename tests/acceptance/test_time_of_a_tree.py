"""The duration of a tree of delegated tasks. It is measured alone, at the end of `make outside`."""

from tests.acceptance.test_delegated_trees import CHILDREN, moment, tree
from tests.acceptance.test_main_job import start
from tests.server import Server
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import check_bound


def test_eight_children_take_little_longer_than_one_child(server):
    one = _seconds(server, 1)
    eight = min(_seconds(server, CHILDREN), _seconds(server, CHILDREN))  # other processes only add to it
    print(f"one child: {one:.2f} s, eight: {eight:.2f} s, {eight / one:.2f} times")
    check_bound(eight, 1.3 * one)


def _seconds(server: Server, count: int) -> float:
    """Return the duration of a task whose children call a model three times, a second each."""
    steps = [{**call("file", action="list", path="."), "delay": 1}] * 2
    _, task = start(server, tree(*[script(*steps, {**result(), "delay": 1})] * count))
    ended = server.until_task(task, state="done")
    return (moment(ended, "ended_at") - moment(ended, "created_at")).total_seconds()

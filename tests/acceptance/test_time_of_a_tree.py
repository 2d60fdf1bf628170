"""How long a tree of delegated tasks takes. It runs with nothing beside it: `make outside` has it at its end."""

from tests.acceptance.test_delegated_trees import CHILDREN, moment, tree
from tests.acceptance.test_main_job import start
from tests.server import Server
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import check_bound


def test_eight_children_take_little_longer_than_one(server):
    one = _seconds(server, 1)
    eight = min(_seconds(server, CHILDREN), _seconds(server, CHILDREN))  # what runs beside them only adds to it
    print(f"one child: {one:.2f} s, eight: {eight:.2f} s, {eight / one:.2f} times")
    check_bound(eight, 1.3 * one)


def _seconds(server: Server, count: int) -> float:
    """That a task took whose children call a model three times that takes a second each time."""
    steps = [{**call("file", action="list", path="."), "delay": 1}] * 2
    _, task = start(server, tree(*[script(*steps, {**result(), "delay": 1})] * count))
    ended = server.until_task(task, state="done")
    return (moment(ended, "ended_at") - moment(ended, "created_at")).total_seconds()

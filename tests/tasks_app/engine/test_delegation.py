"""Parts of a task are given to others, each a task of its own; the call has one result when all have ended."""

from tasks_app import services
from tasks_app.models import Session, Task
from tests.tasks_app.engine.conftest import call, result, script


def part(*replies, **more):
    return {"instruction": script(*replies), **more}


def children_of(task):
    return list(Task.objects.filter(parent_call__task=task).order_by("number"))


def work_off(run):
    """As workers do: whatever can be advanced, until nothing can."""
    while ready := list(Task.objects.runnable()):
        for task in ready:
            type(run)(task).advance()
    run.task.refresh_from_db()
    return run.task


def test_the_results_come_at_once_in_the_order_of_the_list(play):
    run = play(call("delegate", tasks=[part(result("First.")), part(result("Second."))]), result("Both."))
    assert run.advance().waiting_for == "children"
    assert run.task.lease_owner == ""
    assert work_off(run).state == "done"
    [(status, content), _] = run.results()
    assert status == "succeeded"
    assert content.index("First.") < content.index("Second.")
    assert 'number="2" state="done" folder="children/2/"' in content


def test_a_child_is_a_task_in_a_session_of_its_own_that_knows_its_call(play):
    run = play(call("delegate", tasks=[part(result("First."))]), result())
    run.advance()
    [child] = children_of(run.task)
    assert child.session.root == run.task.session
    assert child.session.folder == "children/1"
    assert child.parent_call.task == run.task
    assert child.session not in Session.objects.visible_to(run.task.started_by).started_by_people()


def test_the_failure_of_one_is_a_line_in_the_result(play):
    run = play(call("delegate", tasks=[part(*["No call."] * 4), part(result("Second."))]), result())
    run.advance()
    assert work_off(run).state == "done"
    [(status, content), _] = run.results()
    assert status == "succeeded"
    assert "no_tool_call" in content
    assert "Second." in content


def test_no_more_run_at_once_than_the_call_says(play):
    run = play(call("delegate", max_parallel=2, tasks=[part(result(str(n))) for n in range(5)]), result())
    run.advance()
    assert [child.waiting_for for child in children_of(run.task)] == [None, None, *["siblings"] * 3]
    first = children_of(run.task)[0]
    type(run)(first).advance()
    assert [child.waiting_for for child in children_of(run.task)] == [None, None, None, *["siblings"] * 2]
    assert work_off(run).state == "done"


def test_a_stop_stops_all_below(play):
    slow = {**result(), "delay": 60}
    run = play(call("delegate", tasks=[part(call("delegate", tasks=[part(slow)]), result()), part(slow)]), result())
    run.advance()
    type(run)(children_of(run.task)[0]).advance()
    services.stop(run.task)
    work_off(run)
    assert {(task.state, task.stopped) for task in Task.objects.all()} == {("failed", True)}
    assert Task.objects.count() == 4


def test_an_interjection_ends_the_call_and_its_children(play):
    run = play(call("delegate", tasks=[part(result("First.")), part({**result(), "delay": 60})]), result("Never."))
    run.advance()
    type(run)(children_of(run.task)[0]).advance()
    services.post_message(run.task.session, run.task.started_by, script(result("As you wish.")))
    assert work_off(run).final_result["text"] == "As you wish."
    [(status, content), _] = run.results()
    assert status == "interrupted"
    assert "First." in content
    assert [child.state for child in children_of(run.task)] == ["done", "failed"]

"""Delegation: parts of a task run as child tasks, and the call has one result when all have ended."""

import pytest
from django.contrib.auth.models import Group

from llm_app.models import Budget, LLMLog
from tasks_app import services
from tasks_app.models import Agent, Limits, Session, Task
from tasks_app.replay.rerun import rerun
from tasks_app.run import children
from tasks_app.run.next_task import tasks_waiting_for
from tasks_app.worker import reaper
from tasks_app.workspace.folders import sandbox, workspace_of
from tests import factories
from tests.tasks_app.engine.conftest import call, result, script


def part(*replies, **more):
    return {"instruction": script(*replies), **more}


def children_of(task):
    return list(Task.objects.filter(parent_call__task=task).order_by("number"))


def work_off(run):
    """Advance all tasks as workers do, until none can be advanced."""
    for _ in range(20):
        for task in Task.objects.runnable():
            type(run)(task).advance()
    run.task.refresh_from_db()
    return run.task


def test_results_of_children_come_together_in_the_order_of_the_list(play):
    run = play(call("delegate", tasks=[part(result("First.")), part(result("Second."))]), result("Both."))
    assert run.advance().waiting_for == "children"
    assert run.task.lease_owner == ""
    assert work_off(run).state == "done"
    [(status, content), _] = run.results()
    assert status == "succeeded"
    assert content.index("First.") < content.index("Second.")
    assert 'number="2" state="done" folder="children/2/"' in content


def test_a_child_has_its_own_session_and_knows_its_call(play):
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


def test_the_call_limits_parallel_children(play):
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


def test_a_child_reads_its_parents_files_and_writes_to_its_own_folder(play):
    run = play(
        call("file", action="write", path="data.txt", content="42"),
        call(
            "delegate",
            tasks=[
                part(
                    call("file", action="read", path="parent/data.txt"),
                    call("file", action="write", path="parent/data.txt", content="0"),
                    call("file", action="write", path="mine.txt", content="mine"),
                    call("match", action="grep", pattern="42", path="parent"),
                    result(),
                )
            ],
        ),
        call("file", action="read", path="children/1/mine.txt"),
        result(),
    )
    assert work_off(run).state == "done"
    [child] = children_of(run.task)
    (_, read), (status, refused), _, (_, found), _ = type(run)(child).results()
    assert "42" in read
    assert (status, "only read" in refused) == ("failed", True)
    assert "parent/data.txt" in found
    assert [content for _, content in run.results()][2].count("mine") == 1


def test_commands_of_a_child_see_its_parents_files_and_cannot_change_them(play):
    look = "cat parent/data.txt && echo mine > mine.txt && ! touch parent/other.txt"
    run = play(
        call("file", action="write", path="data.txt", content="42"),
        call("delegate", tasks=[part(call("shell", command=look), result())]),
        result(),
    )
    assert work_off(run).state == "done"
    [child] = children_of(run.task)
    (_, said), _ = type(run)(child).results()
    if sandbox().name == "local":
        pytest.skip("a sandbox is needed")
    assert "42" in said
    assert "exit code 0" in said
    assert workspace_of(run.task.session).is_file("children/1/mine.txt")


def test_a_child_never_has_tools_denied_to_its_parents_agent(play):
    run = play(
        call("delegate", tasks=[part(call("shell", command="true"), result(), agent="free")]),
        result(),
    )
    Agent.objects.create(name="free")
    Session.objects.filter(pk=run.task.session_id).update(
        agent=Agent.objects.create(name="bound", denied_tools=["shell"])
    )
    work_off(run)
    [child] = children_of(run.task)
    assert type(run)(child).results()[0][0] == "blocked"


def test_a_child_has_only_the_tools_that_it_was_given(play):
    run = play(call("delegate", tasks=[part(call("shell", command="true"), result(), tools=["file"])]), result())
    work_off(run)
    [child] = children_of(run.task)
    assert [status for status, _ in type(run)(child).results()] == ["blocked", "succeeded"]


def test_a_tree_is_no_deeper_and_no_larger_than_the_limits_say(play):
    Limits.objects.create(pk=1, children=2, children_depth=1)
    run = play(
        call("delegate", tasks=[part(result())] * 3),
        call("delegate", tasks=[part(call("delegate", tasks=[part(result())]), result())]),
        result(),
    )
    work_off(run)
    [child] = children_of(run.task)
    assert type(run)(child).results()[0][0] == "blocked"
    assert [status for status, _ in run.results()] == ["failed", "succeeded", "succeeded"]


def test_an_agent_is_a_tool_if_another_agents_settings_list_it(play):
    run = play(call("ask_clerk", instruction=script(result("Filed."))), result())
    Agent.objects.create(name="clerk")
    Session.objects.filter(pk=run.task.session_id).update(agent=Agent.objects.create(name="chief", helpers=["clerk"]))
    assert work_off(run).state == "done"
    assert "Filed." in run.results()[0][1]
    [child] = children_of(run.task)
    assert child.session.agent.name == "clerk"


def test_a_helper_for_other_roles_cannot_be_called(play):
    run = play(call("ask_clerk", instruction=script(result("Filed."))), result())
    Agent.objects.create(name="clerk").roles.add(Group.objects.create(name="analysts"))
    Session.objects.filter(pk=run.task.session_id).update(agent=Agent.objects.create(name="chief", helpers=["clerk"]))
    assert work_off(run).state == "done"
    assert (run.results()[0][0], children_of(run.task)) == ("failed", [])


def test_task_tree_exceeds_its_budget_by_at_most_one_call(play, owner):
    Budget.objects.create(user=owner, tokens_per_task=60_000)
    steps = [call("file", action="list", path=".")] * 5
    run = play(call("delegate", tasks=[part(*steps, result())] * 4), result())
    work_off(run)
    logs = [log.input_tokens + log.output_tokens for log in LLMLog.objects.all()]
    assert sum(logs) <= 60_000 + max(logs)
    assert {child.failure_code for child in children_of(run.task)} == {"budget_exceeded"}


def test_a_childs_question_waits_in_the_inbox_of_the_person(play, owner):
    run = play(call("delegate", tasks=[part(call("message", type="ask", text="Which?"), result())]), result())
    run.advance()
    [child] = children_of(run.task)
    type(run)(child).advance()
    assert list(tasks_waiting_for(owner)) == [child]
    services.reply(child, owner, "That one.")
    assert work_off(run).state == "done"


def test_a_lost_wake_up_is_repeated(play, monkeypatch):
    run = play(call("delegate", tasks=[part(result("First."))]), result())
    run.advance()
    monkeypatch.setattr(children, "advance_call", lambda call_id: None)
    type(run)(children_of(run.task)[0]).advance()
    assert work_off(run).waiting_for == "children"
    monkeypatch.undo()
    reaper.sweep()
    assert work_off(run).state == "done"


def test_the_record_of_a_tree_can_be_verified_and_rerun(play):
    run = play(call("delegate", tasks=[part(result("First.")), part(result("Second."))]), result())
    work_off(run)
    for task in Task.objects.all():
        assert rerun(task).divergence == ""


def test_viewers_of_a_session_can_see_its_children(play):
    run = play(call("delegate", tasks=[part(result())]), result())
    work_off(run)
    reader = factories.MemberFactory(session=run.task.session).user
    [child] = children_of(run.task)
    assert child in Task.objects.visible_to(reader)
    assert child not in Task.objects.visible_to(factories.UserFactory())

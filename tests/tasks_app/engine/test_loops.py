"""An agent that repeats itself: five identical calls run, further ones are refused, the third refused ends the task."""

import pytest

from tasks_app import services
from tasks_app.engine import loop
from tasks_app.models import Approval, ToolCallLog
from tests.tasks_app.engine.conftest import call, result, script
from tools_app.contract import registry

LIST = call("file", action="list", path=".")
PLAN = call("plan", action="update", steps=[{"title": "Look"}])


def test_five_run_three_are_refused_and_the_task_ends(play):
    run = play(*[LIST] * 20)
    task = run.advance()
    assert (task.state, task.failure_code) == ("failed", "tool_loop")
    assert [status for status, _ in run.results()] == ["succeeded"] * 5 + ["blocked"] * 3
    assert [entry.metadata.get("kind") for entry in run.entries].count("loop") == 3


def test_arguments_in_another_order_are_the_same_call(play):
    turned = call("file", path=".", action="list")
    run = play(*[LIST, turned] * 4)
    assert run.advance().failure_code == "tool_loop"


def test_invalid_calls_count_too(play):
    run = play(*[call("no_such_tool", x=1)] * 20)
    task = run.advance()
    assert task.failure_code == "tool_loop"
    assert [status for status, _ in run.results()] == ["failed"] * 5 + ["blocked"] * 3


def test_another_way_after_a_refusal_goes_on(play):
    run = play(*[LIST] * 6, result("found another way"))
    assert run.advance().state == "done"


def test_identical_calls_far_apart_may_run(play):
    others = [call("file", action="read", path=f"{n}.txt") for n in range(16)]
    run = play(*[LIST] * 5, *others, LIST, result())
    assert run.advance().state == "done"
    assert "blocked" not in [status for status, _ in run.results()]


def test_a_message_of_a_person_empties_the_window(play, owner):
    question = call("message", type="ask", text="Go on?")
    run = play(*[LIST] * 5, question)
    run.advance()
    services.post_message(run.task.session, owner, "Yes, go on.")
    # The answer to a question is a result. What a person writes while the task runs is the message.
    again = script(*[LIST] * 5, result("All the same."))
    services.post_message(run.task.session, owner, again)
    run.advance()
    assert [status for status, _ in run.results()].count("succeeded") >= 10
    assert not ToolCallLog.objects.filter(task=run.task, looped=True).exists()


def test_the_window_survives_a_restart(play):
    run = play(*[LIST] * 4, call("message", type="ask", text="Go on?"), *[LIST] * 4)
    run.advance()
    services.reply(run.task, run.task.started_by, "yes")
    task = run.advance()
    assert task.failure_code == "tool_loop" or "blocked" in [status for status, _ in run.results()]


@pytest.fixture(params=["one slice", "a claim for each iteration"])
def worked_off(request, play, monkeypatch):
    """Plays the replies to the end, however often the task changes hands; plans may repeat themselves."""
    monkeypatch.setitem(vars(registry.get("plan")), "loop_exempt", True)
    if request.param != "one slice":
        monkeypatch.setattr(loop, "run", loop.advance)

    def go(*replies):
        run = play(*replies, result())
        while run.task.is_active:
            run.advance()
        assert run.task.state == "done"
        return run

    return go


def test_calls_that_may_repeat_themselves_make_no_cycle(worked_off):
    run = worked_off(*[PLAN, LIST] * 5)
    assert "cycle" not in [entry.metadata.get("kind") for entry in run.entries]


def test_calls_that_may_repeat_themselves_push_no_others_out_of_the_window(worked_off):
    run = worked_off(*[LIST] * 5, *[PLAN] * 16, LIST)
    assert [status for status, _ in run.results()].count("blocked") == 1


def test_approvals_stay_bound_to_calls_that_may_repeat_themselves(play, owner, monkeypatch):
    monkeypatch.setitem(vars(registry.get("shell")), "loop_exempt", True)
    run = play(*[call("shell", command=f"rm -rf everything; echo {n}") for n in range(2)], result())
    while run.advance().waiting_for == "approval":
        services.decide(run.task, owner, "approved")
    assert [status for status, _ in run.results()] == ["succeeded"] * 3
    assert len(set(Approval.objects.values_list("fingerprint", flat=True))) == 2

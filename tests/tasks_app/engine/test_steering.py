"""Steering messages: they come before the next step, and interrupt nothing."""

from functools import partial

import pytest

from tasks_app import services
from tasks_app.engine import delegation
from tasks_app.models import Approval, ContextEntry, InboxMessage, Task
from tasks_app.models.errors import SchemaTooLate
from tasks_app.replay.rerun import rerun
from tests.provider import openai_result
from tests.tasks_app.engine.conftest import call, result, script
from tests.tasks_app.engine.test_delegation import children_of, part, work_off
from tests.waiting import until

RUNS = call("shell", command="while [ ! -e go ]; do sleep 0.02; done; echo finished")
DELEGATES = call("delegate", tasks=[part(result("First.")), part(result("Second."))])
HEARD = script(result("Heard."))


def test_a_steer_comes_after_the_running_step(play, owner):
    run = play(RUNS, result("Never said."))
    thread = run.in_thread()
    until(lambda: Task.objects.get().state == "executing_tool")
    delivered = services.post_message(run.task.session, owner, script(result("Heard.")), mode="steer")
    assert (delivered.task, delivered.delivered_as) == (run.task, "steered")
    (run.task.session.workspace_path / "go").touch()
    thread.join(30)
    run.task.refresh_from_db()
    assert (run.task.state, run.task.final_result["text"]) == ("done", "Heard.")
    (first, *_) = run.results()
    assert (first[0], "finished" in first[1]) == ("succeeded", True)
    assert run.types[2:5] == ["tool_call", "tool_result", "user_message"]


def test_a_steer_does_not_interrupt_the_model(ask_http, http_provider, owner):
    http_provider.replies = [openai_result("first", stall_at=1, stall_s=0.5), openai_result("second")]
    run = ask_http()
    thread = run.in_thread()
    assert http_provider.stalling.wait(30)
    services.post_message(run.task.session, owner, "And the other one.", mode="steer")
    thread.join(30)
    run.task.refresh_from_db()
    assert (run.task.final_result["text"], http_provider.hung_up.is_set()) == ("first", False)
    assert run.task.session.tasks.count() == 2  # the task ended without reading it, so it starts the next task


def test_a_steer_answers_a_question(play, owner):
    run = play(call("message", type="ask", text="Which one?"), result())
    run.advance()
    assert services.post_message(run.task.session, owner, "The second.", mode="steer").delivered_as == "reply"
    run.advance()
    assert run.results()[0] == ("succeeded", "The second.")


def test_a_steer_rejects_a_call_that_waits_for_approval(play, owner):
    run = play(call("shell", command="git push --force"), result())
    run.advance()
    delivered = services.post_message(run.task.session, owner, script(result("Left.")), mode="steer")
    assert delivered.delivered_as == "steered"
    assert run.advance().final_result["text"] == "Left."
    assert run.results()[0] == ("rejected", "Not run: the user wrote a message instead.")
    assert Approval.objects.get().decision == "rejected"


def test_a_question_after_a_steer_is_not_asked(play, owner):
    run = play(call("message", type="ask", text="Which one?"), result())
    InboxMessage.objects.create(
        session=run.task.session, author=owner, mode="steer", content=script(result("The second, then."))
    )
    run.task.refresh_from_db()
    with_question = run.advance()
    assert with_question.final_result["text"] == "The second, then."


def test_an_approved_call_runs_before_a_steer(play, owner):
    run = play(call("shell", command="git push --force; echo gone"), result())
    run.advance()
    services.decide(run.task, owner, "approved")
    services.post_message(run.task.session, owner, script(result("Seen.")), mode="steer")
    assert run.advance().final_result["text"] == "Seen."
    assert run.results()[0][0] == "succeeded"
    assert run.types[3:5] == ["tool_result", "user_message"]


def check_that_it_came_after_both_children(run):
    assert work_off(run).final_result["text"] == "Heard."
    assert [(child.state, child.stopped) for child in children_of(run.task)] == [("done", False)] * 2
    (status, content) = run.results()[0]
    assert (status, "First." in content, "Second." in content) == ("succeeded", True, True)
    assert "Not run" not in content
    assert run.types[2:5] == ["tool_call", "tool_result", "user_message"]
    assert rerun(run.task).divergence == ""


def test_a_steer_comes_after_the_results_of_children(play, owner):
    run = play(DELEGATES, result("Never said."))
    assert run.advance().waiting_for == "children"
    assert services.post_message(run.task.session, owner, HEARD, mode="steer").delivered_as == "steered"
    check_that_it_came_after_both_children(run)


def test_a_steer_before_the_wait_for_children_stops_no_child(play, owner, monkeypatch):
    run = play(DELEGATES, result("Never said."))
    steer = partial(services.post_message, run.task.session, owner, HEARD, mode="steer")
    start = delegation.start_children
    monkeypatch.setattr(delegation, "start_children", lambda *about: steer() and start(*about))
    assert run.advance().waiting_for == "children"
    check_that_it_came_after_both_children(run)


def test_an_interjection_reports_the_results_of_children(play, owner):
    run = play(DELEGATES, result("Never said."))
    run.advance()
    type(run)(children_of(run.task)[0]).advance()
    services.post_message(run.task.session, owner, HEARD)
    assert work_off(run).final_result["text"] == "Heard."
    (status, content) = run.results()[0]
    assert status == "interrupted"
    assert content.startswith("The user wrote a message instead.\n<child")


def test_several_steers_come_together_in_order(play, owner):
    run = play(call("plan", action="update", steps=[{"title": "one"}]), result())
    for words in ("a", "b", script(result("All."))):
        services.post_message(run.task.session, owner, words, mode="steer")
    run.advance()
    said = ContextEntry.objects.filter(context_type="user_message").values_list("content", flat=True)
    assert [words[:1] for words in said][1:] == ["a", "b", "`"]


def test_a_steer_cannot_change_the_schema(play, owner):
    run = play(result())
    with pytest.raises(SchemaTooLate):
        services.post_message(run.task.session, owner, "x", mode="steer", output_schema={"type": "object"})


def test_steers_can_be_rerun(play, owner):
    run = play(RUNS, result("Never said."))
    (run.task.session.workspace_path).mkdir(parents=True, exist_ok=True)
    (run.task.session.workspace_path / "go").touch()
    services.post_message(run.task.session, owner, script(RUNS, result("Heard.")), mode="steer")
    run.advance()
    assert rerun(run.task).divergence == ""

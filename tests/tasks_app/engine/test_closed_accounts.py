"""Closed accounts: their tasks are stopped, and their messages start none."""

from tasks_app import services
from tasks_app.models import Task
from tests import factories
from tests.provider import openai_result
from tests.tasks_app.engine.conftest import Run, call, result, script
from tests.tasks_app.engine.test_delegation import children_of, part
from tests.waiting import takes_less_than


def close(user):
    user.is_active = False
    user.save()


def test_running_tasks_of_a_closed_account_end_immediately(ask_http, http_provider, owner):
    http_provider.replies = [openai_result(stall_at=1)]
    run = ask_http()
    thread = run.in_thread()
    assert http_provider.stalling.wait(30)
    with takes_less_than(2):
        close(owner)
        thread.join()
    run.task.refresh_from_db()
    assert run.task.stopped


def test_waiting_tasks_of_a_closed_account_end(play, owner):
    asking = call("message", type="ask", text="Which one?")
    run = play(call("delegate", tasks=[part(asking)]), result())
    run.advance()
    [child] = children_of(run.task)
    Run(child).advance()
    close(owner)
    assert Run(child).advance().stopped
    assert run.advance().stopped


def test_queued_messages_of_a_closed_account_start_nothing(play, owner):
    run, other = play(result()), factories.UserFactory()
    factories.MemberFactory(session=run.task.session, user=other, may_write=True)
    services.post_message(run.task.session, owner, script(result("Mine.")), mode="queue")
    close(owner)
    services.post_message(run.task.session, other, script(result("Theirs.")), mode="queue")
    run.advance()
    following = Run(Task.objects.active().get())
    assert following.task.started_by == other
    following.advance()
    assert not Task.objects.active().exists()


def test_queued_messages_of_former_writers_start_nothing(play, owner):
    run, other = play(result()), factories.UserFactory()
    member = factories.MemberFactory(session=run.task.session, user=other, may_write=True)
    services.post_message(run.task.session, other, script(result("Theirs.")), mode="queue")
    services.post_message(run.task.session, owner, script(result("Mine.")), mode="queue")
    member.may_write = False
    member.save()
    assert run.advance().state == "done"
    following = Run(Task.objects.active().get())
    assert following.task.started_by == owner
    following.advance()
    assert not Task.objects.active().exists()

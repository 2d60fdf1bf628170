"""Stops and interjections take effect immediately, whatever the LLM or a tool is doing."""

import pytest

from tasks_app import services
from tasks_app.engine import loop
from tasks_app.models import FailureCode, InboxMessage, Task
from tasks_app.run import LimitExceeded
from tasks_app.runtime import event_loop, stream_buffer
from tests.provider import Reply, openai_call, openai_chunk, openai_result, sse
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import takes_less_than, until

AT_ONCE = 1.0  # seconds


def test_stop_ends_a_task_while_the_provider_stalls_and_closes_its_socket(ask_http, http_provider):
    http_provider.replies = [openai_result(stall_at=1)]
    run = ask_http()
    thread = run.in_thread()
    assert http_provider.stalling.wait(30)
    with takes_less_than(AT_ONCE):
        services.stop(run.task)
        thread.join(30)
    assert http_provider.hung_up.wait(30)
    run.task.refresh_from_db()
    assert (run.task.state, run.task.failure_code, run.task.stopped) == ("failed", "stopped", True)


def test_an_interjection_aborts_the_llm_call_and_is_read_immediately(ask_http, http_provider, owner):
    http_provider.replies = [openai_result(stall_at=1), openai_result("changed course")]
    run = ask_http()
    thread = run.in_thread()
    assert http_provider.stalling.wait(30)
    with takes_less_than(AT_ONCE):
        delivered = services.post_message(run.task.session, owner, "No, the other one.")
        assert delivered.delivered_as == "interjected"
        thread.join(30)
    run.task.refresh_from_db()
    assert (run.task.state, run.task.final_result["text"]) == ("done", "changed course")
    assert http_provider.received[1].body["messages"][-1]["content"] == "No, the other one."


def test_text_seen_by_a_person_stays_in_the_context(ask_http, http_provider, owner):
    long = openai_call("message", {"type": "result", "text": "The first half. The second half."}, pieces=8, stall_at=6)
    http_provider.replies = [long, openai_result()]
    run = ask_http()
    thread = run.in_thread()
    until(lambda: event_loop.submit(stream_buffer.store.chunks_of(run.task.pk)).result(10))
    services.post_message(run.task.session, owner, "Stop, please.")
    thread.join(30)
    partial = run.entries[2]
    assert (partial.context_type, partial.metadata["status"], partial.in_context) == ("ai_message", "interrupted", True)
    assert partial.content
    assert "The first half. The second half.".startswith(partial.content)
    sent = http_provider.received[1].body["messages"]
    assert {"role": "assistant", "content": partial.content} in sent
    assert run.types[3:5] == ["user_message", "system_reminder"]
    assert "ended what you were saying" in run.entries[4].content


def test_text_next_to_a_call_seen_by_a_person_stays(ask_http, http_provider, owner):
    begun = sse(openai_chunk({"content": "I look around. "}), openai_chunk({"content": "Then"}))
    http_provider.replies = [Reply(chunks=begun, stall_at=2), openai_result()]
    run = ask_http()
    thread = run.in_thread()
    until(lambda: event_loop.submit(stream_buffer.store.chunks_of(run.task.pk)).result(10))
    (seen,) = event_loop.submit(stream_buffer.store.chunks_of(run.task.pk)).result(10)
    services.post_message(run.task.session, owner, "Stop, please.")
    thread.join(30)
    partial = run.entries[2]
    assert (seen.kind, partial.context_type, partial.metadata["status"]) == ("words", "ai_message", "interrupted")
    assert partial.content.startswith("I look around.")


def test_a_message_never_comes_between_a_call_and_its_result(play, owner):
    run = play(call("message", type="ask", text="Which one?"), result())
    run.advance()
    delivered = services.post_message(run.task.session, owner, "The second.")
    assert delivered.delivered_as == "reply"
    run.advance()
    assert run.types[2:5] == ["ai_message", "tool_result", "ai_message"]
    assert run.results()[0] == ("succeeded", "The second.")


def test_a_queued_message_waits_and_starts_the_next_task(play, owner):
    run = play(call("message", type="ask", text="Which one?"), result())
    run.advance()
    delivered = services.post_message(run.task.session, owner, script(result("next")), mode="queue")
    assert (delivered.task, delivered.delivered_as) == (None, "queued")
    services.reply(run.task, owner, "That one.")
    assert run.advance().state == "done"
    following = Task.objects.active().get(session=run.task.session)
    assert following.pk != run.task.pk
    assert InboxMessage.objects.waiting_in(run.task.session).count() == 0


def test_two_queued_messages_start_one_task_each_in_order(play, owner):
    run = play(call("message", type="ask", text="?"), result())
    run.advance()
    for text in ("first", "second"):
        services.post_message(run.task.session, owner, script(result(text)), mode="queue")
    services.reply(run.task, owner, "ok")
    run.advance()
    texts = []
    while (task := Task.objects.active().filter(session=run.task.session).first()) is not None:
        run.task = task
        texts.append(run.advance().final_result["text"])
    assert texts == ["first", "second"]


def test_messages_before_a_stop_are_appended_and_start_nothing(play, owner):
    run = play(call("message", type="ask", text="?"))
    run.advance()
    services.post_message(run.task.session, owner, "later", mode="queue")
    services.stop(run.task)
    task = run.advance()
    assert task.stopped
    assert not Task.objects.active().exists()
    assert run.entries[-1].content == "later"
    assert run.results() == [("interrupted", "No answer. Stopped by the user.")]


@pytest.mark.parametrize("mode", ["interject", "queue"])
def test_messages_after_a_stop_start_the_next_task(play, owner, mode):
    run = play(call("message", type="ask", text="?"))
    run.advance()
    services.post_message(run.task.session, owner, "waited", mode="queue")
    services.stop(run.task)
    delivered = services.post_message(run.task.session, owner, script(result("Gone on.")), mode=mode)
    assert (delivered.task, delivered.delivered_as) == (None, "queued")
    assert run.advance().stopped
    run.task = Task.objects.active().get()
    assert run.advance().final_result["text"] == "Gone on."
    assert [entry.content for entry in run.entries if entry.content == "waited"] == ["waited"]


@pytest.mark.parametrize(("fails", "end"), [(False, "done"), (True, "failed")])
def test_a_stop_as_the_task_ends_still_holds_back_messages(play, owner, monkeypatch, fails, end):
    run = play(result())
    finalize = loop.finalize

    def late(context):
        services.post_message(run.task.session, owner, "waited", mode="queue")
        services.stop(run.task)
        if fails:
            raise LimitExceeded(FailureCode.TIME_LIMIT, "It is over.")
        finalize(context)

    monkeypatch.setattr(loop, "finalize", late)
    assert run.advance().state == end
    assert not Task.objects.active().exists()
    assert run.entries[-1].content == "waited"


def test_stop_of_a_task_that_has_ended_changes_nothing(play):
    run = play(result())
    run.advance()
    assert services.stop(run.task).state == "done"


def test_stop_before_the_task_has_begun(play):
    run = play(result())
    services.stop(run.task)
    assert run.advance().failure_code == "stopped"
    assert run.types == ["user_message", "status_notice"]


def test_an_unread_interjection_starts_the_next_task(play, owner, monkeypatch):
    run = play(result("first"))
    finalize = loop.finalize

    def late(context):
        services.post_message(run.task.session, owner, script(result("second")))
        finalize(context)

    monkeypatch.setattr(loop, "finalize", late)
    run.advance()
    monkeypatch.undo()
    run.task = Task.objects.active().get(session=run.task.session)
    assert run.advance().final_result["text"] == "second"


@pytest.mark.parametrize("mode", ["interject", "queue"])
def test_a_message_without_a_running_task_starts_one_in_either_mode(play, owner, mode):
    session = play(result()).advance().session
    assert services.post_message(session, owner, script(result()), mode=mode).delivered_as == "started"


def test_a_lost_signal_costs_one_poll(ask_http, http_provider, monkeypatch):
    from tasks_app.runtime import wakeup
    from tasks_app.worker.supervisor import WorkerThreads

    monkeypatch.setattr(wakeup, "_interrupt", lambda task_id: None)
    http_provider.replies = [openai_result(stall_at=1)]
    run = ask_http()
    keeper = WorkerThreads()
    keeper.start()
    thread = run.in_thread()
    assert http_provider.stalling.wait(30)
    services.stop(run.task)
    until(lambda: not thread.is_alive(), 2)
    keeper.stop()
    run.task.refresh_from_db()
    assert run.task.failure_code == "stopped"

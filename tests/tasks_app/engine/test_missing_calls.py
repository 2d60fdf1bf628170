"""Replies without a tool call: an error, and never the end by itself."""

import pytest

from tasks_app.models import Limits
from tests.provider import Reply, openai_call, openai_chunk, openai_result, openai_text, sse
from tests.tasks_app.engine.conftest import call, result


def test_a_reply_without_a_call_is_recorded_and_reminded(play):
    run = play("I think it is done.", result())
    assert run.advance().state == "done"
    assert run.types[2:4] == ["no_tool_call_retry", "system_reminder"]
    assert run.entries[2].content == "I think it is done."
    assert "no tool call" in run.entries[3].content


@pytest.mark.parametrize("reminders", [0, 1, 3])
def test_too_many_replies_without_a_call_end_the_task(play, reminders):
    Limits.objects.create(pk=1, no_tool_call_retries=reminders)
    run = play(*["No call."] * 10)
    task = run.advance()
    assert (task.state, task.failure_code) == ("failed", "no_tool_call")
    assert run.types.count("no_tool_call_retry") == reminders + 1
    assert run.types.count("system_reminder") == reminders + 1  # one is the task's start


def test_the_countdown_counts_the_replies_until_the_end(play):
    run = play(*["No call."] * 10)
    run.advance()
    warnings = [entry.content for entry in run.entries if entry.metadata.get("kind") == "missing_call"]
    assert [warning.rpartition('"result". ')[2] for warning in warnings] == [
        "3 more such replies and the task fails.",
        "2 more such replies and the task fails.",
        "The next such reply ends the task as failed.",
    ]
    assert run.types.count("no_tool_call_retry") == 4


def test_a_call_resets_the_count_of_missing_calls(play):
    Limits.objects.create(pk=1, no_tool_call_retries=1)
    run = play("One.", call("file", action="list", path="."), "Two.", result())
    assert run.advance().state == "done"


def test_retries_count_as_iterations(play):
    run = play(*["No call."] * 5, max_iterations=2)
    task = run.advance()
    assert (task.failure_code, task.iteration) == ("max_iterations", 2)


def test_an_empty_reply_is_recorded_but_not_sent(ask_http, http_provider):
    http_provider.replies = [openai_text(""), openai_result()]
    run = ask_http()
    assert run.advance().state == "done"
    roles = [message["role"] for message in http_provider.received[1].body["messages"]]
    assert roles == ["system", "user", "user", "user"]


def test_a_call_with_an_invalid_name_is_reminded(ask_http, http_provider):
    http_provider.replies = [openai_call("no such name!", {}), openai_result()]
    run = ask_http()
    assert run.advance().state == "done"
    assert run.types[2:4] == ["no_tool_call_retry", "system_reminder"]
    assert "could not be read" in run.entries[3].content


def test_a_call_cut_off_before_its_arguments_never_runs(ask_http, http_provider):
    begin = {"index": 0, "id": "c", "type": "function", "function": {"name": "plan", "arguments": ""}}
    cut = Reply(chunks=sse(openai_chunk({"tool_calls": [begin]}), openai_chunk({}, "length"), "[DONE]"))
    http_provider.replies = [cut, openai_result()]
    run = ask_http()
    assert run.advance().state == "done"
    status, content = run.results()[0]
    assert status == "failed"
    assert "nothing was run" in content


def test_arguments_that_are_cut_off_give_a_failed_result(ask_http, http_provider):
    http_provider.replies = [openai_call("file", '{"action": "write", "path": "a'), openai_result()]
    run = ask_http()
    assert run.advance().state == "done"
    status, content = run.results()[0]
    assert status == "failed"
    assert "not valid JSON" in content

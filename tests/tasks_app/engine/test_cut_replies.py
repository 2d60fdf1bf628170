"""Replies that are cut at the output limit: the model reads so, and later requests have only the beginning."""

import json

import pytest

from llm_app.models import LLMLog
from tasks_app import services
from tasks_app.models import Limits
from tasks_app.replay.rerun import rerun
from tasks_app.services import forks
from tests import factories
from tests.provider import Reply, openai_chunk, openai_result, openai_text, sse
from tests.tasks_app.engine.conftest import Run

TEXT = "print(1)\n" * 300
ARGUMENTS = json.dumps({"action": "write", "path": "a.py", "content": TEXT})[:-40]
XML = (
    'I write it.\n<function_calls>\n<invoke name="file">\n<parameter name="action">write</parameter>\n'
    f'<parameter name="path">a.py</parameter>\n<parameter name="content">{TEXT}'
)
HALF_CALLS = {
    "openai_native": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "file", "arguments": ARGUMENTS}}]},
    "openai_xml": {"content": XML},
    "json_schema": {"content": f'{{"tool": "file", "arguments": {ARGUMENTS}'},
}
RESULTS = {
    "openai_native": openai_result(),
    "openai_xml": openai_text(
        '<function_calls>\n<invoke name="message">\n<parameter name="type">result</parameter>\n'
        '<parameter name="text">Done.</parameter>\n</invoke>\n</function_calls>'
    ),
    "json_schema": openai_text('{"tool": "message", "arguments": {"type": "result", "text": "Done."}}'),
}


def cut(delta, reason="length"):
    usage = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 4_000}}
    return Reply(chunks=sse(openai_chunk(delta), openai_chunk({}, reason), usage, "[DONE]"))


@pytest.fixture
def ask(owner, http_provider):
    def start(protocol):
        row = factories.ProviderFactory(protocol=protocol, base_url=http_provider.base_url, timeout_s=5)
        route = factories.RouteFactory(provider=row, provider_model="fake-1", max_tokens=4_000)
        session = factories.SessionFactory(owner=owner, model=route.model)
        return Run(services.post_message(session, owner, "Go.").task)

    return start


@pytest.mark.parametrize("protocol", sorted(HALF_CALLS))
def test_a_cut_call_is_told_as_cut_and_hardly_sent_again(ask, http_provider, protocol):
    http_provider.replies = [cut(HALF_CALLS[protocol]), RESULTS[protocol]]
    run = ask(protocol)
    assert run.advance().state == "done"
    [(status, content), _] = run.results()
    assert status == "failed"
    assert content.startswith("Cut at the limit of 4,000 tokens, nothing was run. Your arguments were cut after ")
    assert "`write` the first 1,500 characters, then `append` parts of at most 1,500 characters." in content
    assert "Cut again" not in content
    assert not run.task.session.workspace_path.joinpath("a.py").exists()
    sent = http_provider.received[1].raw.decode()
    assert 10 < sent.count("print(1)") < 30
    assert "at most 4,000 tokens" in sent
    entry = next(entry for entry in run.entries if entry.is_cut)
    assert entry.call["arguments"].count("print(1)") > 250  # the record keeps the whole
    assert rerun(run.task).divergence == ""


@pytest.mark.parametrize(
    "content",
    [
        f'<tool_call>\n{{"name": "file", "arguments": {ARGUMENTS}',
        f"<function=file>{ARGUMENTS}",
        f'[TOOL_CALLS][{{"name": "file", "arguments": {ARGUMENTS}',
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.file:0<|tool_call_argument_begin|>{ARGUMENTS}",
        f'```json\n{{"name": "file", "arguments": {ARGUMENTS}',
        f"<tool_call>\n<function=file>\n<parameter=action>\nwrite\n</parameter>\n<parameter=content>\n{TEXT}",
    ],
)
def test_half_calls_in_the_text_of_families_are_cut_calls(ask, http_provider, content):
    http_provider.replies = [cut({"content": content}), openai_result()]
    run = ask("openai_native")
    assert run.advance().state == "done"
    assert "Cut at the limit" in run.results()[0][1]
    assert http_provider.received[1].raw.decode().count("print(1)") < 30


def test_a_call_that_used_all_tokens_is_cut_whatever_its_reason(ask, http_provider):
    http_provider.replies = [cut(HALF_CALLS["openai_native"], "tool_calls"), openai_result()]
    run = ask("openai_native")
    assert run.advance().state == "done"
    assert "Cut at the limit of 4,000 tokens" in run.results()[0][1]
    assert rerun(run.task).divergence == ""


def test_other_tools_are_advised_to_use_a_file(ask, http_provider):
    call = {"index": 0, "id": "c", "function": {"name": "shell", "arguments": '{"command": "cat > a.py' + "1" * 600}}
    http_provider.replies = [cut({"tool_calls": [call]}), openai_result()]
    run = ask("openai_native")
    assert run.advance().state == "done"
    assert "send shorter arguments" in run.results()[0][1]


def test_a_complete_call_before_the_limit_runs(ask, http_provider):
    call = {"name": "file", "arguments": '{"action": "write", "path": "a.py", "content": "x"}'}
    http_provider.replies = [cut({"tool_calls": [{"index": 0, "id": "c", "function": call}]}), openai_result()]
    run = ask("openai_native")
    assert run.advance().state == "done"
    assert run.task.session.workspace_path.joinpath("a.py").read_text() == "x"


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_a_cut_text_gets_the_advice_to_say_less(ask, http_provider, reason):
    http_provider.replies = [cut({"content": "Once upon a time"}, reason), openai_result()]
    run = ask("openai_native")
    assert run.advance().state == "done"
    assert run.entries[3].metadata["kind"] == "cut_reply"
    assert "cut at the limit of 4,000 tokens" in run.entries[3].content
    assert rerun(run.task).divergence == ""


def test_cut_calls_end_the_task_like_missing_calls(ask, http_provider):
    Limits.objects.create(pk=1, no_tool_call_retries=2)
    calls = [
        {"index": 0, "id": f"c{n}", "function": {"name": "file", "arguments": ARGUMENTS[:-n]}} for n in range(1, 9)
    ]
    http_provider.replies = [cut({"tool_calls": [call]}) for call in calls]
    run = ask("openai_native")
    task = run.advance()
    assert (task.failure_code, LLMLog.objects.count()) == ("no_tool_call", 3)
    assert "output limit" in task.failure_detail
    first, second, third = [content for _, content in run.results()]
    assert "Cut again" not in first + third
    assert second.endswith("Cut again: the next such reply ends the task as failed.")
    assert rerun(run.task).divergence == ""


def test_cut_texts_count_down(ask, http_provider):
    http_provider.replies = [*[cut({"content": "Once upon a time"})] * 3, openai_result()]
    run = ask("openai_native")
    assert run.advance().state == "done"
    first, second, third = [entry.content for entry in run.entries if entry.metadata.get("kind") == "cut_reply"]
    assert "Cut again" not in first
    assert second.endswith("Cut again: 2 more such replies and the task fails.")
    assert third.endswith("Cut again: the next such reply ends the task as failed.")
    assert rerun(run.task).divergence == ""


def test_a_cut_text_is_hardly_sent_again(ask, http_provider, owner):
    http_provider.replies = [*[cut({"content": TEXT})] * 3, openai_result(), openai_result()]
    run = ask("openai_native")
    assert run.advance().state == "done"
    assert [received.raw.decode().count("print(1)") for received in http_provider.received] == [0, 22, 44, 66]
    entry = next(entry for entry in run.entries if entry.context_type == "no_tool_call_retry")
    assert (entry.content, entry.call, entry.is_cut) == (TEXT, None, True)
    assert rerun(run.task).divergence == ""
    copy = forks.fork(run.task.session, run.task.session.last_seq, owner)
    assert Run(services.post_message(copy, owner, "Go on.").task).advance().state == "done"
    assert http_provider.received[-1].raw.decode().count("print(1)") == 66


def test_a_session_goes_on_after_too_many_cut_texts(ask, http_provider, owner):
    Limits.objects.create(pk=1, no_tool_call_retries=0)
    http_provider.replies = [cut({"content": TEXT}), openai_result()]
    run = ask("openai_native")
    assert run.advance().failure_code == "no_tool_call"
    assert rerun(run.task).divergence == ""
    assert Run(services.post_message(run.task.session, owner, "Once more.").task).advance().state == "done"
    assert http_provider.received[1].raw.decode().count("print(1)") == 22


def test_a_reply_that_ends_early_is_not_told_as_reaching_the_limit(ask, http_provider):
    call = {"index": 0, "id": "c", "function": {"name": "file", "arguments": '{"action": "wri'}}
    usage = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}
    early = Reply(chunks=sse(openai_chunk({"tool_calls": [call]}), openai_chunk({}, "length"), usage, "[DONE]"))
    http_provider.replies = [*[early] * 3, openai_result()]
    run = ask("openai_native")
    assert run.advance().state == "done"
    text = run.results()[0][1]
    assert text.startswith("The provider ended your reply long before the limit of 4,000 tokens; nothing was run.")
    assert "after 15 characters: send the call once more." in text


@pytest.mark.parametrize("delta", [HALF_CALLS["openai_native"], {"content": TEXT}], ids=["call", "text"])
def test_a_smaller_limit_of_the_server_is_not_told_as_ours(ask, http_provider, delta):
    usage = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 512}}
    capped = Reply(chunks=sse(openai_chunk(delta), openai_chunk({}, "length"), usage, "[DONE]"))
    http_provider.replies = [capped, openai_result()]
    run = ask("openai_native")
    assert run.advance().state == "done"
    [text] = [entry.content for entry in run.entries if "long before the limit of 4,000 tokens" in entry.content]
    assert "append" in text
    assert rerun(run.task).divergence == ""


def test_short_arguments_are_not_written_in_parts(ask, http_provider):
    call = {"index": 0, "id": "c", "function": {"name": "file", "arguments": '{"action": "wri'}}
    http_provider.replies = [cut({"tool_calls": [call]}), openai_result()]
    run = ask("openai_native")
    assert run.advance().state == "done"
    assert "cut after 15 characters: think and write less before the call" in run.results()[0][1]

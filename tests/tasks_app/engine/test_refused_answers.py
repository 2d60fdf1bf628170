"""Answers that a provider's filter stops: one call, an end with its own reason, and a session that goes on."""

import json

import pytest

from llm_app.models import Blob, LLMLog
from tasks_app import services
from tasks_app.models import Cause, ContextCut, ContextEntry
from tasks_app.record import Cut
from tasks_app.replay.rerun import rerun
from tasks_app.services import forks
from tests import factories
from tests.provider import Reply, openai_call, openai_chunk, openai_result, running, sse
from tests.tasks_app.engine.conftest import Run

FLAGGED = "MARK-FLAGGED"


def finished(reason, delta=None):
    return Reply(chunks=sse(openai_chunk(delta or {"content": "I"}), openai_chunk({}, reason), "[DONE]"))


def filtered_if_flagged(received):
    """Answer like a provider whose filter reads the whole request."""
    return finished("content_filter") if FLAGGED in received.raw.decode() else openai_result("4")


REASONS = [
    *("content_filter", "content-filter", "content_filtered", "refusal", "sensitive", "guardrail_intervened"),
    *("SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII", "prohibited_content"),
    *("content_filter: PROHIBITED_CONTENT", "FINISH_REASON_SAFETY", "IMAGE_SAFETY", "ERROR_TOXIC", "MODEL_ARMOR"),
]


@pytest.mark.parametrize("reason", REASONS)
def test_each_reason_of_a_filter_ends_the_task_after_one_call(ask_http, http_provider, reason):
    http_provider.replies = [finished(reason), openai_result()]
    task = ask_http().advance()
    assert (task.failure_code, len(http_provider.received)) == ("content_refused", 1)
    log = LLMLog.objects.get()
    assert (log.error_type, log.error) == ("ContentRefused", f"finish_reason: {reason}.")


def test_the_end_marks_the_entries_and_tells_the_person(ask_http, http_provider):
    http_provider.replies = [finished("content_filter")]
    run = ask_http()
    assert "filter of the model provider stopped the answer" in run.advance().failure_detail
    *refused, reminder, notice = run.entries
    assert [entry.metadata.get("left_out") for entry in refused] == [True] * len(refused)
    assert (reminder.metadata["kind"], notice.metadata["code"]) == ("left_out", "content_refused")
    run.task.session.refresh_from_db()
    assert run.task.session.left_out == [[1, refused[-1].seq]]


def test_a_call_in_a_refused_answer_is_never_run(ask_http, http_provider):
    call = {"name": "file", "arguments": '{"action": "write", "path": "n.txt", "content": "x"}'}
    delta = {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": call}]}
    http_provider.replies = [finished("content_filter", delta)]
    run = ask_http()
    assert run.advance().failure_code == "content_refused"
    assert not run.task.session.workspace_path.joinpath("n.txt").exists()
    assert "tool_call" not in run.types


def test_the_session_goes_on_without_the_refused_turn(ask_http, http_provider, owner):
    http_provider.replies = [openai_result("Hello."), *[filtered_if_flagged] * 3]
    assert ask_http("Hello.").advance().state == "done"
    assert ask_http(f"{FLAGGED} do it.").advance().failure_code == "content_refused"
    run = ask_http("What is 2 + 2?")
    assert run.advance().final_result["text"] == "4"
    sent = http_provider.received[-1].raw.decode()
    assert FLAGGED not in sent
    assert "Hello." in sent
    assert "left out here" in sent
    assert rerun(run.task).divergence == ""


def test_a_flagged_result_is_left_out_as_well(ask_http, http_provider):
    write = openai_call("file", {"action": "write", "path": "n.txt", "content": FLAGGED})
    http_provider.replies = [write, *[filtered_if_flagged] * 2]
    assert ask_http().advance().failure_code == "content_refused"
    run = ask_http("Forget it.")
    assert run.advance().state == "done"
    assert FLAGGED not in http_provider.received[-1].raw.decode()


def test_a_second_refusal_in_a_row_names_the_way_out(ask_http, http_provider):
    http_provider.replies = [finished("content_filter")] * 2
    assert "new session" not in ask_http().advance().failure_detail
    assert "new session" in ask_http().advance().failure_detail


def test_neighbouring_refusals_leave_a_single_reminder(ask_http, http_provider):
    http_provider.replies = [finished("content_filter")] * 2 + [openai_result()] * 2
    ask_http().advance()
    second = ask_http()
    second.advance()
    assert ask_http("What is 2 + 2?").advance().state == "done"
    sent = http_provider.received[-1].raw.decode()
    assert sent.count("left out here") == 1
    assert "Two messages of the person, and what you did for them, are left out here" in sent
    assert "still in the workspace" in sent
    assert rerun(second.task).divergence == ""
    ask_http().advance()
    assert rerun(second.task).divergence == ""


def test_a_refusal_after_an_answer_has_its_own_reminder(ask_http, http_provider):
    http_provider.replies = [finished("content_filter"), openai_result(), finished("content_filter"), openai_result()]
    for _ in range(4):
        ask_http().advance()
    assert http_provider.received[-1].raw.decode().count("A message of the person, and what you did for it") == 2


def test_a_cut_of_the_refused_task_no_longer_applies(ask_http, http_provider, http_session):
    http_provider.replies = [filtered_if_flagged] * 2
    run = ask_http(f"{FLAGGED} do it.")
    text = Cut(seq=2, block=f"<compacted_history>{FLAGGED}</compacted_history>").text
    row = ContextCut(session=http_session, task=run.task, window=128_000, seq=2, cause=Cause.FILLED)
    row.blob, row.tokens_before, row.tokens_after = Blob.store(text), 2, 1
    row.save()
    assert run.advance().failure_code == "content_refused"
    assert ask_http("What is 2 + 2?").advance().state == "done"


def test_a_fork_leaves_out_the_same_entries(ask_http, http_provider, owner):
    http_provider.replies = [filtered_if_flagged] * 3
    run = ask_http(f"{FLAGGED} do it.")
    run.advance()
    run.task.session.refresh_from_db()
    copy = forks.fork(run.task.session, run.task.session.last_seq, owner)
    delivered = services.post_message(copy, owner, "What is 2 + 2?")
    assert Run(delivered.task).advance().state == "done"
    assert copy.left_out == run.task.session.left_out
    assert forks.fork(run.task.session, 1, owner).left_out == [[1, 1]]


def test_another_route_is_asked_once(ask_http, http_provider, http_session):
    http_provider.replies = [finished("content_filter")] * 3
    with running() as second, running() as third:
        second.replies, third.replies = [finished("refusal")], [openai_result()]
        for priority, server in enumerate((second, third), 2):
            row = factories.ProviderFactory(protocol="openai_native", base_url=server.base_url, timeout_s=5)
            factories.RouteFactory(model=http_session.model, provider=row, priority=priority)
        assert ask_http().advance().failure_code == "content_refused"
        assert [len(server.received) for server in (http_provider, second, third)] == [1, 1, 0]
        second.replies = [openai_result()]
        run = ask_http("Once more.")
        assert run.advance().state == "done"
    assert (
        "Another provider takes over."
        in ContextEntry.objects.in_session(http_session).get(task=run.task, context_type="status_notice").content
    )


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Content Exists Risk"),
        (400, "The request was rejected because it was considered high risk"),
        (400, "Invalid prompt: your prompt was flagged as potentially violating our usage policy."),
        (403, "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"),
        (422, "input new_sensitive (1026)"),
        (400, "litellm.ContentPolicyViolationError: VertexAIException - The response was blocked."),
    ],
)
def test_an_error_of_a_filter_leaves_the_session_alive(ask_http, http_provider, status, message):
    body = json.dumps({"error": {"message": message}}).encode()
    refusal = Reply(chunks=[body], status=status, content_type="application/json")
    http_provider.replies = [refusal, openai_result()]
    assert ask_http(FLAGGED).advance().failure_code == "content_refused"
    assert ask_http("Forget it.").advance().state == "done"
    assert FLAGGED not in http_provider.received[-1].raw.decode()


@pytest.mark.parametrize("reason", ["malformed_function_call", "function_call_filter: MALFORMED_FUNCTION_CALL"])
def test_a_malformed_call_is_a_reply_without_a_call(ask_http, http_provider, reason):
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "plan", "arguments": "{}"}}
    http_provider.replies = [finished(reason, {"tool_calls": [call]}), finished(reason), openai_result()]
    run = ask_http()
    assert run.advance().state == "done"
    assert run.types.count("no_tool_call_retry") == 2
    assert "malformed" in run.entries[3].content

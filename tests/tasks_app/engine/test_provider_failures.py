"""Failures of providers: a retry, a failover or one sentence, never a traceback or a hung task."""

import pytest
from django.utils.functional import SimpleLazyObject

from llm_app.call import retry
from llm_app.models import LLMLog, Provider
from tasks_app.pages import fragments
from tasks_app.record import transcript
from tests import factories
from tests.provider import Reply, openai_call, openai_result, running
from tests.pushes import pushed


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch):
    monkeypatch.setattr(retry, "_wait", lambda delay, jitter: retry.RetryDecision(retry.Action.RETRY, 0.0))


def test_a_broken_stream_is_retried_and_its_text_is_discarded(ask_http, http_provider):
    cut = openai_call("message", {"type": "result", "text": "Half of the ans"}, pieces=5, cut=True)
    http_provider.replies = [cut, openai_result("The whole answer.")]
    run = ask_http()
    assert run.advance().final_result["text"] == "The whole answer."
    partial = run.entries[2]
    assert (partial.in_context, partial.metadata["discarded"]) == (False, True)
    assert run.types[3] == "status_notice"
    assert "Half of" not in str(http_provider.received[1].body["messages"])


def test_server_errors_are_retried_three_times(ask_http, http_provider):
    http_provider.replies = [Reply(status=500)]
    task = ask_http().advance()
    assert task.failure_code == "provider_unavailable"
    assert len(http_provider.received) == 3
    assert LLMLog.objects.filter(status="failed").count() == 3


def test_a_refused_request_is_never_retried(ask_http, http_provider):
    http_provider.replies = [Reply(status=400, chunks=[b'{"error": {"message": "bad tools"}}'])]
    task = ask_http().advance()
    assert (task.failure_code, len(http_provider.received)) == ("structural_error", 1)


def test_a_refused_parameter_is_left_out_with_a_notice(ask_http, http_provider):
    def answer(received):
        if "stream_options" not in received.body:
            return openai_result("Hello.")
        return Reply(status=400, chunks=[b'{"error": {"message": "Unknown parameter", "param": "stream_options"}}'])

    http_provider.replies = [answer]
    run = ask_http()
    assert run.advance().final_result["text"] == "Hello."
    assert run.task.iteration == 1
    said = [entry.content for entry in run.entries if entry.context_type == "status_notice"]
    assert said == ["The model provider refused “stream_options” in the request. It is sent again in another form."]


def test_a_conversation_that_is_too_long_says_so(ask_http, http_provider):
    http_provider.replies = [Reply(status=400, chunks=[b'{"error": {"code": "context_length_exceeded"}}'])]
    assert ask_http().advance().failure_code == "context_overflow"


def test_a_wrong_key_says_so_without_the_key(ask_http, http_provider):
    Provider.objects.update(api_key="sk-very-secret")
    http_provider.replies = [Reply(status=401, chunks=[b"Incorrect API key: sk-very-secret"])]
    task = ask_http().advance()
    assert task.failure_code == "authentication"
    assert "sk-very-secret" not in LLMLog.objects.get().error
    assert "sk-very-secret" not in task.failure_detail


def test_another_provider_takes_over_and_a_notice_says_so_once(ask_http, http_provider, http_session):
    http_provider.replies = [Reply(status=429)]
    with running() as second:
        second.replies = [openai_result("from the second")]
        row = factories.ProviderFactory(protocol="openai_native", base_url=second.base_url)
        factories.RouteFactory(model=http_session.model, provider=row, priority=2)
        run = ask_http()
        assert run.advance().final_result["text"] == "from the second"
    assert run.types.count("status_notice") == 1


def test_a_missing_provider_is_one_sentence(ask_http, http_provider):
    http_provider.close()
    task = ask_http().advance()
    assert task.failure_code == "provider_unavailable"
    assert "Try again later" in task.failure_detail


@pytest.mark.parametrize(
    "body",
    [b"<html>It works!</html>", b"[]", b"null", b'{"status": "ok"}', b"{oops", b"\xff\xfe", b'{"choices": []}'],
    ids=["html", "list", "null", "foreign", "half", "no utf-8", "no choice"],
)
def test_an_invalid_body_is_a_structural_error_without_retry(ask_http, http_provider, body):
    http_provider.replies = [Reply(chunks=[body], content_type="application/json")]
    assert ask_http().advance().failure_code == "structural_error"
    assert len(http_provider.received) == 1


def test_an_empty_answer_is_retried(ask_http, http_provider):
    http_provider.replies = [Reply(chunks=[b""], content_type="application/json")]
    assert ask_http().advance().failure_code == "provider_unavailable"
    assert len(http_provider.received) == 3


def test_an_html_answer_falls_back_to_the_next_route(ask_http, http_provider, http_session):
    http_provider.replies = [Reply(chunks=[b"<html>Sign in</html>"], content_type="text/html")]
    with running() as second:
        second.replies = [openai_result("from the second")]
        row = factories.ProviderFactory(protocol="openai_native", base_url=second.base_url)
        factories.RouteFactory(model=http_session.model, provider=row, priority=2)
        run = ask_http()
        assert run.advance().final_result["text"] == "from the second"
    said = next(entry.content for entry in run.entries if entry.context_type == "status_notice")
    assert "not answer in its protocol" in said
    assert "Another provider takes over" in said


def test_an_answer_without_streaming_is_accepted(ask_http, http_provider):
    body = (
        b'{"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function",'
        b'"function": {"name": "message", "arguments": "{\\"type\\": \\"result\\", \\"text\\": \\"ok\\"}"}}]},'
        b'"finish_reason": "tool_calls"}]}'
    )
    http_provider.replies = [Reply(chunks=[body], content_type="application/json")]
    assert ask_http().advance().state == "done"


def test_a_call_id_that_comes_twice_gets_a_new_one(ask_http, http_provider):
    same = openai_call("plan", {"action": "advance"}, call_id="call_0")
    http_provider.replies = [same, same, openai_result()]
    run = ask_http()
    assert run.advance().state == "done"
    ids = [entry.call["id"] for entry in run.entries if entry.call]
    assert ids[0] == "call_0"
    assert len(set(ids)) == 3


def test_no_provider_at_all_is_explained(owner):
    from tasks_app import services
    from tasks_app.worker import jobs

    session = factories.SessionFactory(owner=owner)
    task = services.post_message(session, owner, "hello").task
    jobs.advance(task.pk)
    task.refresh_from_db()
    assert task.failure_code == "provider_unavailable"
    assert "administrator" in task.failure_detail


# --- what an administrator sees of it, and nobody else -------------------------------------------------------------


@pytest.fixture
def refused(ask_http, http_provider):
    """A task that a provider has refused with a message that contains a secret."""
    http_provider.replies = [Reply(status=400, chunks=[b'{"error": {"message": "bad tools, dear sk-a-key"}}'])]
    Provider.objects.update(api_key="sk-a-key")
    run = ask_http()
    assert run.advance().failure_code == "structural_error"
    return run


def shown_to(user, run) -> list[str]:
    """Return the card of the failure, as the page loads it and as the websocket pushes it."""
    last = run.entries[-1]
    item, viewer = transcript.item_of(last), SimpleLazyObject(lambda: user)  # as in a request and in a websocket
    return [str(fragments.entry(item, viewer)), pushed(last, viewer)]


def test_an_administrator_sees_the_providers_message_with_a_link(refused, admin_user):
    log = LLMLog.objects.get()
    for card in shown_to(admin_user, refused):
        assert f"/admin/llm_app/llmlog/{log.pk}/change/" in card
        assert ": HTTP 400: bad tools, dear" in card
        assert "sk-a-key" not in card
    assert "bad tools" in log.error


@pytest.mark.parametrize("is_staff", [False, True], ids=["a user", "staff without the permission"])
def test_people_without_the_permission_see_one_sentence(refused, is_staff):
    owner = refused.task.session.owner
    owner.is_staff = is_staff
    owner.save()
    for card in shown_to(owner, refused):
        assert "The model provider refused the request." in card
        assert "bad tools" not in card
        assert "llmlog" not in card


def test_revoked_rights_apply_to_an_open_page(refused, admin_user):
    shown_to(admin_user, refused)
    type(admin_user).objects.update(is_staff=False, is_superuser=False)
    assert not any("llmlog" in card for card in shown_to(admin_user, refused))


def test_a_failure_whose_call_is_no_longer_kept_has_no_link(refused, admin_user):
    LLMLog.objects.all().delete()
    assert not any("llmlog" in card for card in shown_to(admin_user, refused))

"""The demo answers only if there is no other model: it never takes over from a real provider."""

from collections.abc import Callable

import pytest

from llm_app.call import retry
from llm_app.models import LLMLog, LogicalModel, Provider, Route
from tasks_app import services
from tasks_app.models import Session
from tests import factories
from tests.provider import FakeProvider, Reply, openai_call, openai_result
from tests.tasks_app.engine.conftest import Run

LIST = openai_call("file", {"action": "list", "path": "."})
LOCKED = Reply(status=401, chunks=[b"no such key"])


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(retry, "_wait", lambda delay, jitter: retry.RetryDecision(retry.Action.RETRY, 0.0))


@pytest.fixture
def model(http_session: Session) -> LogicalModel:
    """A model with a real provider and the demo."""
    model = http_session.model
    assert model is not None
    factories.RouteFactory(model=model, provider_model="demo", provider__name="demo", priority=1)
    model.routes.exclude(provider__name="demo").update(priority=2)
    return model


def asked() -> set[str]:
    return set(LLMLog.objects.values_list("adapter", flat=True))


def test_a_real_route_precedes_the_demo(
    model: LogicalModel, ask_http: Callable[..., Run], http_provider: FakeProvider
) -> None:
    http_provider.replies = [openai_result("A real answer.")]
    assert ask_http().advance().final_result["text"] == "A real answer."
    assert asked() == {"openai_native"}


@pytest.mark.parametrize(
    ("reply", "code", "words"),
    [
        (LOCKED, "authentication", "An administrator must correct it."),
        (Reply(status=500), "provider_unavailable", "Try again later."),
        (Reply(status=429), "provider_unavailable", "Try again later."),
    ],
    ids=["401", "500", "429"],
)
def test_a_failing_provider_ends_the_task_without_the_demo(
    reply: Reply, code: str, words: str, model: LogicalModel, ask_http: Callable[..., Run], http_provider: FakeProvider
) -> None:
    http_provider.replies = [LIST, reply]
    run = ask_http()
    task = run.advance()
    assert (task.state, task.failure_code) == ("failed", code)
    assert words in task.failure_detail
    assert asked() == {"openai_native"}
    assert "demo" not in str([entry.content for entry in run.entries])


def test_a_disabled_real_provider_does_not_enable_the_demo(model: LogicalModel, ask_http: Callable[..., Run]) -> None:
    Provider.objects.filter(protocol="openai_native").update(enabled=False)
    assert ask_http().advance().failure_code == "provider_unavailable"
    assert not LLMLog.objects.exists()


def test_the_demo_does_not_continue_a_task_of_a_real_provider(
    model: LogicalModel, ask_http: Callable[..., Run], http_provider: FakeProvider
) -> None:
    http_provider.replies = [openai_call("message", {"type": "ask", "text": "Which one?"})]
    run = ask_http()
    assert run.advance().waiting_for == "reply"
    Route.objects.filter(provider__protocol="openai_native").delete()
    services.post_message(run.task.session, run.task.started_by, "The first.")
    task = run.advance()
    assert (task.state, task.failure_code) == ("failed", "provider_unavailable")
    assert "An administrator must add one." in task.failure_detail
    assert asked() == {"openai_native"}


def test_a_real_provider_continues_a_task_of_the_demo(
    model: LogicalModel, ask_http: Callable[..., Run], http_provider: FakeProvider
) -> None:
    real = model.routes.exclude(provider__name="demo").get()
    Route.objects.filter(pk=real.pk).delete()
    run = ask_http("Show me what you can do.")
    assert run.advance().waiting_for == "reply"
    assert asked() == {"scripted"}
    real.save(force_insert=True)
    http_provider.replies = [LIST, LOCKED]
    services.post_message(run.task.session, run.task.started_by, "Yes, please")
    assert run.advance().failure_code == "authentication"
    assert LLMLog.objects.latest("created_at").adapter == "openai_native"


def test_side_calls_of_real_models_do_not_stop_the_demo(model: LogicalModel, ask_http: Callable[..., Run]) -> None:
    Route.objects.exclude(provider__name="demo").delete()
    run = ask_http("Show me what you can do.")
    factories.log(task_id=run.task.pk, purpose="memory", adapter="openai_embeddings")
    assert run.advance().waiting_for == "reply"

"""Bad replies of providers: a task always ends with a reason, and no tool runs by mistake."""

import pytest

from llm_app.call import retry
from tasks_app import services
from tasks_app.models import Limits, ToolCallLog
from tests import factories
from tests.llm_app.protocol_case import Case, all_cases
from tests.tasks_app.engine.conftest import Run

BAD = [case for case in all_cases() if case.error or (case.turn or {}).get("unreadable")]
OF_THE_PROVIDER = {
    *("provider_unavailable", "structural_error", "authentication", "context_overflow", "no_tool_call"),
    "content_refused",
}


@pytest.fixture(autouse=True)
def _once(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable retries: what follows a failure has its own tests."""
    monkeypatch.setattr(retry, "ATTEMPTS", 1)
    monkeypatch.setattr(retry, "ATTEMPTS_OVERLOADED", 1)
    Limits.objects.create(pk=1, no_tool_call_retries=0)


@pytest.mark.parametrize("protocol", sorted({case.protocol for case in BAD}))
def test_bad_replies_end_with_a_reason_and_run_no_tool(owner, http_provider, protocol):
    for case in BAD:
        if case.protocol == protocol:
            task = _ended(owner, http_provider, case)
            assert task.state == "failed", f"{case}: {task.final_result}"
            assert task.failure_code in OF_THE_PROVIDER, f"{case}: {task.failure_code}"
            assert task.failure_detail, str(case)
    assert not ToolCallLog.objects.exclude(status="failed").exists()


def _ended(owner, http_provider, case: Case):
    """Return the ended task of a model that gives only this reply."""
    row = factories.ProviderFactory(
        protocol=case.protocol, base_url=http_provider.base_url, timeout_s=5, breaker={"min_calls": 1000}
    )
    route = factories.RouteFactory(provider=row, provider_model="m", quirks=case.quirks)
    session = factories.SessionFactory(owner=owner, model=route.model)
    http_provider.replies = [case.reply]
    return Run(services.post_message(session, owner, "Go.").task).advance()

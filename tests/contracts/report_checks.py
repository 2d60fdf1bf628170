"""The checks of a report's `expect`: a name → a function of the played session and the expected value."""

from decimal import Decimal
from typing import Any

from llm_app.models import LearnedQuirk, LLMLog
from tasks_app.models import ContextEntry
from tests.contracts.report import Check, ReportedSession
from tests.contracts.report_rules import RULES, requested_sizes


def states(played: ReportedSession, expected: list[str]) -> None:
    """How the tasks end: "done", or "failed: " with the code."""
    found = [f"{task.state}: {task.failure_code}" if task.failure_code else task.state for task in played.tasks]
    assert found == expected, [task.failure_detail for task in played.tasks]


def ends(played: ReportedSession, expected: list[str]) -> None:
    """How the tasks end, whatever the code of a failure."""
    assert [task.state for task in played.tasks] == expected, [task.failure_detail for task in played.tasks]


def requests(played: ReportedSession, expected: list[int]) -> None:
    """How many requests each provider gets."""
    assert [len(provider.exchanges) for provider in played.providers] == expected


def requests_at_most(played: ReportedSession, expected: list[int]) -> None:
    """Each provider gets no more requests."""
    counts = [len(provider.exchanges) for provider in played.providers]
    assert all(count <= most for count, most in zip(counts, expected, strict=True)), counts


def refusals(played: ReportedSession, expected: int) -> None:
    """How many requests are refused by rules."""
    assert _refused(played) == expected


def refusals_at_most(played: ReportedSession, expected: int) -> None:
    assert _refused(played) <= expected


def _refused(played: ReportedSession) -> int:
    exchanges = (exchange for provider in played.providers for exchange in provider.exchanges)
    return sum(1 for exchange in exchanges if exchange.refused_by)


def says(played: ReportedSession, expected: list[str]) -> None:
    """The sentence of the last failed task contains these words."""
    detail = _last_failure(played)
    assert [words for words in expected if words not in detail] == [], detail


def says_any(played: ReportedSession, expected: list[str]) -> None:
    """The sentence of the last failed task contains one of these words."""
    detail = _last_failure(played)
    assert any(words.lower() in detail.lower() for words in expected), detail


def never_says(played: ReportedSession, expected: list[str]) -> None:
    detail = _last_failure(played)
    assert [words for words in expected if words in detail] == [], detail


def _last_failure(played: ReportedSession) -> str:
    return next(task.failure_detail for task in reversed(played.tasks) if task.failure_code)


def results(played: ReportedSession, expected: list[str]) -> None:
    """These words are in results or reminders that the model reads."""
    read = "\n".join(_read_by_model(played))
    assert [words for words in expected if words not in read] == [], read[-3000:]


def never_results(played: ReportedSession, expected: list[str]) -> None:
    read = "\n".join(_read_by_model(played))
    assert [words for words in expected if words in read] == [], read[-3000:]


def _read_by_model(played: ReportedSession) -> list[str]:
    entries = ContextEntry.objects.in_session(played.session)
    return [entry.content for entry in entries if entry.in_context and entry.role != "assistant"]


def notices(played: ReportedSession, expected: list[str]) -> None:
    """These words are in the record's notices, which people read."""
    entries = ContextEntry.objects.in_session(played.session)
    read = "\n".join(entry.content for entry in entries if not entry.in_context)
    assert [words for words in expected if words not in read] == [], read[-3000:]


def files(played: ReportedSession, expected: list[str]) -> None:
    """The files of the workspace."""
    folder = played.session.workspace_path
    found = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert found == set(expected)


def last_request_has(played: ReportedSession, expected: list[str]) -> None:
    """The last request to the last provider contains these words."""
    text = played.providers[-1].exchanges[-1].received.raw.decode()
    assert [words for words in expected if words not in text] == [], text[-3000:]


def last_request_lacks(played: ReportedSession, expected: list[str]) -> None:
    text = played.providers[-1].exchanges[-1].received.raw.decode()
    assert [words for words in expected if words in text] == [], text[-3000:]


def never_sent(played: ReportedSession, expected: list[list[Any]]) -> None:
    """No request breaks these rules: [name, argument, …]."""
    for name, *arguments in expected:
        sent = (exchange for provider in played.providers for exchange in provider.exchanges)
        assert not any(RULES[name](exchange.received, *arguments) for exchange in sent), name


def output_tokens_at_most(played: ReportedSession, expected: int) -> None:
    """No answered request asks for more output tokens."""
    sent = [exchange for provider in played.providers for exchange in provider.exchanges if not exchange.refused_by]
    assert max(size for exchange in sent for size in requested_sizes(exchange.received)) <= expected


def paths(played: ReportedSession, expected: list[str]) -> None:
    """The paths of the requests, each once."""
    found = dict.fromkeys(exchange.received.path for exchange in played.providers[0].exchanges)
    assert list(found) == expected


def cost_usd(played: ReportedSession, expected: float) -> None:
    costs = _logs(played).values_list("cost_usd", flat=True)
    assert sum(cost or 0 for cost in costs) == Decimal(str(expected))


def input_tokens_at_most(played: ReportedSession, expected: int) -> None:
    """No call counts more input tokens."""
    assert max(_logs(played).values_list("input_tokens", flat=True)) <= expected


def quirks(played: ReportedSession, expected: dict[str, Any]) -> None:
    """The learned quirks."""
    assert dict(LearnedQuirk.objects.values_list("quirk", "value")) == expected


def breakers(played: ReportedSession, expected: list[str]) -> None:
    """The states of the breakers by the order of the routes."""
    rows = [route.provider for route in played.model.routes.order_by("priority")]
    found = [getattr(row, "circuit_breaker", None) for row in rows]
    assert [breaker.state if breaker else "closed" for breaker in found] == expected


def calls_fail_as(played: ReportedSession, expected: list[str]) -> None:
    """The error of each failed call, in order."""
    assert list(_logs(played).filter(status="failed").order_by("pk").values_list("error_type", flat=True)) == expected


def _logs(played: ReportedSession) -> Any:
    return LLMLog.objects.filter(session_id=played.session.pk)


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        *(states, requests, refusals, says, never_says, results, never_results, notices, files, last_request_has),
        *(last_request_lacks, never_sent, output_tokens_at_most, paths, cost_usd, input_tokens_at_most, quirks),
        *(breakers, calls_fail_as),
        *(ends, requests_at_most, refusals_at_most, says_any),
    )
}

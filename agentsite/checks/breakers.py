"""The circuit breakers of the providers: which one keeps calls away, and why."""

from collections.abc import Iterator

from agentsite.checks.messages import Finding, broken, note
from llm_app.models import BreakerState, CircuitBreaker

_RESET = "Reset its breaker in the admin when it shall be left to itself again."


def unusual() -> Iterator[Finding]:
    """One finding for each breaker of an enabled provider that is not closed, or that somebody forced."""
    rows = CircuitBreaker.objects.filter(provider__enabled=True).exclude(state=BreakerState.CLOSED, forced=False)
    for breaker in rows.select_related("provider").defer("provider__api_key").order_by("provider__name"):
        yield _finding(f"breaker {breaker.provider.name}", breaker)


def _finding(name: str, breaker: CircuitBreaker) -> Finding:
    if breaker.forced and breaker.state == BreakerState.OPEN:
        return note(name, "It is forced open: nobody calls this provider.", _RESET)
    if breaker.forced:
        return note(name, "It is forced closed: this provider is called, however often it fails.", _RESET)
    if breaker.key_refused:
        return broken(name, "It is open: this provider does not accept its key.", "Set the right key in the admin.")
    if breaker.state == BreakerState.HALF_OPEN:
        return note(name, "It is half-open: one call tries whether this provider answers again.")
    mend = "It is tried again by itself; the LLM calls in the admin say what failed."
    return broken(name, f"It is open, so this provider is left alone. {breaker.reason}", mend)

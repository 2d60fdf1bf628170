"""Circuit breakers, shared by all workers: calls to a provider that keeps failing are paused for some time."""

from llm_app.breaker.rules import MAX_CALLS, MAX_SECONDS, Thresholds

__all__ = ["MAX_CALLS", "MAX_SECONDS", "Thresholds"]

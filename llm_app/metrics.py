"""Prometheus counters of this process: provider calls, their tokens and their cost."""

from functools import lru_cache

import prometheus_client
from prometheus_client import CollectorRegistry, Counter

from llm_app.models import LLMLog

prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # a second line for each counter
ENGINE = CollectorRegistry()
_CALLS = Counter("agentsite_llm_calls", "Requests to providers.", ["provider", "outcome"], registry=ENGINE)
_TOKENS = Counter(
    "agentsite_llm_tokens", "Tokens: all input, the cached part of it, output.", ["provider", "kind"], registry=ENGINE
)
_calls, _tokens = lru_cache(_CALLS.labels), lru_cache(_TOKENS.labels)
_COST = Counter("agentsite_cost_usd", "What requests to providers have cost, in US dollars.", registry=ENGINE)


def count_call(log: LLMLog) -> None:
    """Count a finished request with its outcome (`succeeded`, `failed`, `aborted`), tokens and cost."""
    _calls(log.provider, log.status).inc()
    for kind in ("input", "cached", "output", "thinking"):
        if tokens := getattr(log, f"{kind}_tokens"):
            _tokens(log.provider, kind).inc(tokens)
    if log.cost_usd:
        _COST.inc(float(log.cost_usd))

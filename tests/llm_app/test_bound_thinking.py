"""Models that reject signed thinking after a change before it are asked to drop such thinking instead."""

import json
from typing import Any

import pytest

from llm_app.adapters.anthropic_native import AnthropicNative
from llm_app.adapters.base import Endpoint, RouteParameters
from llm_app.call.families import quirks_of_family
from llm_app.types import Message, Prompt

DROP = {"prefix_mismatch_behavior": "drop_block"}
BETA = "thinking-binding-controls-2026-08-01"


def sent(model: str, headers: dict[str, str] | None = None, **fields: Any) -> tuple[Any, str | None]:
    """Return the thinking of a request, and the betas in its header."""
    quirks = quirks_of_family("anthropic_native", model)
    parameters = RouteParameters(model=model, max_tokens=4000, quirks=quirks, **fields)
    hello = Message(role="user", content='"block_binding"')
    body = AnthropicNative().body(Prompt(system="Be brief.", tools=(), messages=[hello]), parameters)
    request = AnthropicNative().request(body, Endpoint(base_url="http://x", extra_headers=headers or {}))
    return json.loads(body).get("thinking"), request.headers.get("anthropic-beta")


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5-1", "claude-haiku-5-5-20260901"])
@pytest.mark.parametrize("budget", [None, 2000])
def test_the_binding_is_sent_with_requested_and_with_default_thinking(model: str, budget: int | None) -> None:
    thinking, betas = sent(model, thinking_budget=budget)
    assert (thinking["type"], thinking["block_binding"], betas) == ("adaptive", DROP, BETA)


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-sonnet-4-5", "claude-opus-4-8"])
def test_other_models_get_no_binding(model: str) -> None:
    thinking, betas = sent(model, thinking_budget=2000)
    assert ("block_binding" in thinking, betas) == (False, None)


def test_disabled_thinking_stays_disabled() -> None:
    assert sent("claude-sonnet-5-5", extra_body={"thinking": {"type": "disabled"}}) == ({"type": "disabled"}, None)


def test_betas_of_the_route_stay() -> None:
    assert sent("claude-opus-5-5", {"anthropic-beta": "context-1m"})[1] == f"context-1m,{BETA}"

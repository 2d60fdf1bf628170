"""Models get the parameters that their family accepts, unless the route overrides them."""

import json
from typing import Any

import pytest

from llm_app.adapters.base import RouteParameters
from llm_app.call.families import quirks_of_family
from llm_app.models import LLMLog, LogicalModel, Provider
from llm_app.protocols import adapters
from llm_app.types import Message, Prompt, Thinking, ToolCall, ToolSpec
from tests import strict_provider
from tests.llm_app.conftest import complete
from tests.provider import FakeProvider, openai_text

NEW = ["gpt-5.2", "gpt-5-mini-2025-08-07", "gpt-5", "o1", "o4-mini", "openai/gpt-5", "ft:o4-mini-2025-04-16:org::id"]
OTHERS = ["gpt-4.1", "gpt-4o-mini", "gpt-oss-120b", "openai/gpt-oss-20b", "olmo-2", "qwen3-32b", "gemini-2.5-pro", "m"]


def sent(model: LogicalModel, server: FakeProvider, name: str, **fields: Any) -> Any:
    model.routes.update(provider_model=name, **fields)
    complete(model)
    return server.received[-1].body


@pytest.mark.parametrize("protocol", ["openai_native", "openai_xml", "json_schema"])
@pytest.mark.parametrize("name", NEW)
def test_families_that_reject_max_tokens_do_not_get_it(
    name: str, protocol: str, model: LogicalModel, servers: list[FakeProvider]
) -> None:
    servers[0].replies = [strict_provider.like_gpt_5(lambda received: openai_text("Hello."))]
    Provider.objects.update(protocol=protocol)
    body = sent(model, servers[0], name, temperature=0.2, extra_body={"top_p": 0.9}, quirks={"strict_tools": True})
    assert body["max_completion_tokens"] == 8_192
    assert LLMLog.objects.get().status == "succeeded"


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_model_gets_max_tokens(name: str, model: LogicalModel, servers: list[FakeProvider]) -> None:
    servers[0].replies = [openai_text("Hello.")]
    body = sent(model, servers[0], name)
    assert (body["max_tokens"], "max_completion_tokens" in body) == (8_192, False)


@pytest.mark.parametrize(("name", "field"), [("gpt-5.2", "max_tokens"), ("my-model", "max_completion_tokens")])
def test_a_quirk_of_the_route_overrides_the_family(
    name: str, field: str, model: LogicalModel, servers: list[FakeProvider]
) -> None:
    servers[0].replies = [openai_text("Hello.")]
    body = sent(model, servers[0], name, quirks={"max_tokens_field": field})
    assert {"max_tokens", "max_completion_tokens"} & body.keys() == {field}


# --- other parameters of a family, as its adapter writes them ------------------------------------------------------

TOOL = ToolSpec(name="shell", description="Runs.", parameters={"type": "object", "properties": {}})
HELLO = Message(role="user", content="Hello.")
SAMPLING = {"temperature", "top_p", "top_k"}


def head(protocol: str, name: str, tools: tuple[ToolSpec, ...] = (TOOL,), **fields: Any) -> dict[str, Any]:
    """Return the body of a request to a model, on a route without its own quirks."""
    quirks = quirks_of_family(protocol, name) | fields.pop("quirks", {})
    messages = fields.pop("messages", [HELLO])
    parameters = RouteParameters.from_json({"model": name, "max_tokens": 4_000, "quirks": quirks, **fields})
    body = adapters()[protocol].body(Prompt(system="Be brief.", tools=tools, messages=messages), parameters)
    return dict(json.loads(body))


@pytest.mark.parametrize("name", ["gpt-4.1", "gpt-4o-mini", "openai/gpt-5", "gpt-5.2", "gpt-5.6-terra"])
def test_gpt_is_asked_for_exactly_one_call(name: str) -> None:
    body = head("openai_native", name)
    assert (body["parallel_tool_calls"], body["tool_choice"]) == (False, "required")


@pytest.mark.parametrize("name", ["o1", "o3-mini", "o4-mini-2025-04-16"])
def test_the_o_series_gets_no_parallel_tool_calls(name: str) -> None:
    assert "parallel_tool_calls" not in head("openai_native", name)


@pytest.mark.parametrize("name", ["gemini-2.5-pro", "deepseek-reasoner", "kimi-k2.6", "qwen3.6-plus", "a-model"])
def test_models_that_may_reject_a_forced_call_are_not_forced(name: str) -> None:
    assert not {"parallel_tool_calls", "tool_choice"} & head("openai_native", name).keys()


@pytest.mark.parametrize("protocol", ["openai_native", "anthropic_native"])
def test_requests_without_tools_have_no_tool_choice(protocol: str) -> None:
    name = "gpt-5.6" if protocol == "openai_native" else "claude-opus-4-5"
    assert not {"parallel_tool_calls", "tool_choice", "reasoning_effort"} & head(protocol, name, ()).keys()


@pytest.mark.parametrize(
    ("name", "effort"),
    [("gpt-5", "medium"), ("gpt-5.1", "medium"), ("o4-mini", "medium"), ("gemini-3-pro", "medium")]
    + [("gpt-5.2", None), ("gpt-5.5", None), ("gpt-4.1", None), ("gpt-5-chat-latest", None)]
    + [("gpt-5.6-terra", "none"), ("gpt-5.10", "none"), ("gpt-6", "none")],
)
def test_a_thinking_budget_becomes_an_effort_with_tools(name: str, effort: str | None) -> None:
    assert head("openai_native", name, thinking_budget=5_000).get("reasoning_effort") == effort


def test_the_newest_gpt_gets_no_reasoning_effort_with_tools() -> None:
    body = head("openai_native", "gpt-5.6-terra", extra_body={"reasoning_effort": "high"})
    assert body["reasoning_effort"] == "none"


@pytest.mark.parametrize("name", ["gpt-5-chat-latest", "gpt-4.1", "kimi-k2-0905-preview", "moonshot-v1-8k"])
def test_models_that_accept_a_temperature_get_it(name: str) -> None:
    assert head("openai_native", name, temperature=0.3)["temperature"] == 0.3


@pytest.mark.parametrize("name", ["kimi-k2.5", "kimi-k3", "moonshotai/kimi-k2-thinking"])
def test_thinking_kimi_models_get_no_sampling(name: str) -> None:
    assert not SAMPLING & head("openai_native", name, temperature=0.3, extra_body={"top_p": 0.9}).keys()


@pytest.mark.parametrize("name", ["deepseek-reasoner", "deepseek-v4-pro", "kimi-k2.5"])
def test_thinking_goes_back_with_its_call_to_models_that_need_it(name: str) -> None:
    thought = Thinking(text="Hm.", protocol="openai", model=name)
    call = Message(role="assistant", thinking=thought, tool_call=ToolCall(id="c", name="shell", arguments="{}"))
    result = Message(role="tool", content="a", tool_call_id="c")
    body = head("openai_native", name, messages=[HELLO, call, result])
    assert body["messages"][2]["reasoning_content"] == "Hm."


@pytest.mark.parametrize("name", ["claude-sonnet-4-5-20250929", "anthropic/claude-opus-4.8", "claude-3-5-haiku-latest"])
def test_claude_is_asked_for_exactly_one_call(name: str) -> None:
    assert head("anthropic_native", name)["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}


@pytest.mark.parametrize(
    ("name", "budget"), [("claude-sonnet-4-5", 5_000), ("claude-opus-5", None), ("claude-fable-5", None)]
)
def test_a_thinking_claude_is_not_forced_to_call(name: str, budget: int | None) -> None:
    body = head("anthropic_native", name, thinking_budget=budget)
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


def test_other_servers_of_anthropics_protocol_get_no_tool_choice() -> None:
    assert "tool_choice" not in head("anthropic_native", "glm-4.6")


def test_protocols_with_tools_in_the_prompt_have_no_tool_choice() -> None:
    assert "tool_choice" not in head("anthropic_xml", "claude-sonnet-4-5")


NEW_CLAUDE = [
    "claude-opus-4-7",
    "anthropic.claude-opus-4-8-v1:0",
    "claude-sonnet-5",
    "claude-opus-5-5",
    "claude-fable-5",
]
OLD_CLAUDE = ["claude-opus-4-20250514", "claude-opus-4-6", "claude-sonnet-4-5-20250929", "claude-haiku-4-5"]


@pytest.mark.parametrize("protocol", ["anthropic_native", "anthropic_xml"])
@pytest.mark.parametrize("name", NEW_CLAUDE)
def test_a_new_claude_thinks_adaptively_and_takes_no_sampling(name: str, protocol: str) -> None:
    body = head(protocol, name, thinking_budget=20_000, temperature=0.2, extra_body={"top_p": 0.9, "top_k": 4})
    assert body["thinking"].items() >= {"type": "adaptive", "display": "summarized"}.items()
    assert body["output_config"] == {"effort": "high"}
    assert not SAMPLING & head(protocol, name, temperature=0.2, extra_body={"top_p": 0.9}).keys()


@pytest.mark.parametrize("name", OLD_CLAUDE)
def test_an_older_claude_gets_a_budget_and_a_temperature(name: str) -> None:
    body = head("anthropic_native", name, thinking_budget=2_000, temperature=0.2)
    assert (body["thinking"], "temperature" in body) == ({"type": "enabled", "budget_tokens": 2_000}, False)
    assert head("anthropic_native", name, temperature=0.2)["temperature"] == 0.2


def test_adaptive_thinking_allows_a_history_of_another_model() -> None:
    call = Message(role="assistant", tool_call=ToolCall(id="c", name="shell", arguments="{}"))
    result = Message(role="tool", content="a", tool_call_id="c")
    body = head("anthropic_native", "claude-opus-4-8", thinking_budget=2_000, messages=[HELLO, call, result])
    assert body["thinking"]["type"] == "adaptive"


@pytest.mark.parametrize("name", ["gpt-5.2", "claude-opus-5", "gemini/gemini-2.5-pro"])
def test_the_table_does_not_apply_to_litellm(name: str) -> None:
    assert quirks_of_family("litellm", name) == {}


def test_extra_body_of_the_route_overrides_the_family() -> None:
    quirks = {"tool_choice": "auto", "parallel_tool_calls": True, "unsupported": []}
    body = head("openai_native", "gpt-5", quirks=quirks, temperature=0.2)
    assert (body["tool_choice"], body["temperature"], "parallel_tool_calls" in body) == ("auto", 0.2, False)
    body = head("openai_native", "gpt-5", extra_body={"tool_choice": "none", "parallel_tool_calls": True})
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("none", True)
    body = head("anthropic_native", "claude-opus-4-5", extra_body={"tool_choice": {"type": "auto"}})
    assert body["tool_choice"] == {"type": "auto"}


@pytest.mark.parametrize(
    ("name", "reasons", "has_phases"),
    [("gpt-5.6", True, True), ("gpt-5.1", True, False), ("o4-mini", True, False), ("gpt-4.1", False, False)],
)
def test_only_reasoning_models_are_asked_for_encrypted_reasoning(name: str, reasons: bool, has_phases: bool) -> None:
    """Source: "Encrypted content is not supported with this model", github.com/ShishirPatil/gorilla/pull/1150."""
    call = ToolCall(id="call_1", name="shell", arguments="{}")
    messages = [HELLO, Message(role="assistant", content="I look.", tool_call=call)]
    sent = head("openai_responses", name, messages=messages, temperature=0.5, thinking_budget=2000)
    assert ("include" in sent, "reasoning" in sent, "temperature" in sent) == (reasons, reasons, not reasons)
    assert ("phase" in sent["input"][1]) == has_phases

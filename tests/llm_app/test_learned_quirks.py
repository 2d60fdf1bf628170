"""After a provider rejects a parameter, the same call is sent again without it, and later calls omit it from the start."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from llm_app import errors
from llm_app.call import References, StoredPrompt
from llm_app.models import LearnedQuirk, LLMLog, LogicalModel, Provider
from llm_app.types import Message, Prompt, ToolCall, ToolSpec
from tests.llm_app import conftest
from tests.llm_app.conftest import Watcher
from tests.provider import Answer, FakeProvider, Received, Reply, openai_text

TOOL = ToolSpec(
    name="shell",
    description="Runs.",
    parameters={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
HISTORY = [
    Message(role="user", content="Hello."),
    Message(role="assistant", tool_call=ToolCall(id="call_1", name="shell", arguments='{"command": "ls"}')),
    Message(role="tool", content="a", tool_call_id="call_1"),
    Message(role="user", content="And?"),
    Message(role="user", content="Go on."),
]


def openai(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def anthropic(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


def refusing(body: Any, refused: Callable[[Any], bool], status: int = 400) -> Answer:
    """Return a server that answers unless it rejects the request."""

    def answer(received: Received) -> Reply:
        if refused(received.body):
            return Reply(status=status, chunks=[json.dumps(body).encode()], content_type="application/json")
        return openai_text("fine") if received.path.endswith("completions") else _claude_says("fine")

    return answer


def _claude_says(text: str) -> Reply:
    body = {"type": "message", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
    return Reply(chunks=[json.dumps(body).encode()], content_type="application/json")


def has(field: str) -> Callable[[Any], bool]:
    return lambda body: field in body


def complete(model: LogicalModel, watcher: Watcher | None = None) -> str:
    """Make a call with a tool and a history."""
    prompt = Prompt(system="Be brief.", tools=(TOOL,), messages=HISTORY)
    return conftest.complete(
        model, watcher, prompt_for=lambda recipient: StoredPrompt(prompt=prompt, references=References())
    )


WORDS_OF_GPT = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
)
NO_ADAPTIVE = "adaptive thinking is not supported on this model"
ADAPTIVE = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort".'
)

# A rejection in the words of the named provider, and the quirk that is learned from it.
REFUSALS: dict[str, tuple[str, dict[str, Any], Any, Callable[[Any], bool], tuple[str, Any]]] = {
    "OpenAI, an output limit under its old name": (
        *("openai_native", {}, openai(WORDS_OF_GPT, "max_tokens", "unsupported_parameter"), has("max_tokens")),
        ("max_tokens_field", "max_completion_tokens"),
    ),
    "OpenAI, temperature": (
        *("openai_native", {"temperature": 0.2}),
        openai("Unsupported value: 'temperature' does not support 0.2 with this model.", "temperature"),
        *(has("temperature"), ("unsupported", "temperature")),
    ),
    "Kimi, temperature": (
        *("openai_native", {"temperature": 0.2}, openai("invalid temperature: only 1 is allowed for this model")),
        *(has("temperature"), ("unsupported", "temperature")),
    ),
    "OpenAI, parallel calls of a tuned model": (
        *("openai_native", {"quirks": {}, "provider_model": "gpt-4o-tuned"}),
        openai("Unsupported parameter: 'parallel_tool_calls' is not supported with this model.", "parallel_tool_calls"),
        *(has("parallel_tool_calls"), ("parallel_tool_calls", True)),
    ),
    "OpenAI, GPT-5.6 thinks by default, which it refuses beside tools": (
        *("openai_native", {}),
        openai(
            "Function tools with reasoning_effort are not supported for it in /v1/chat/completions. To use function "
            "tools, use /v1/responses or set reasoning_effort to 'none'.",
            "reasoning_effort",
        ),
        *(lambda body: body.get("reasoning_effort") != "none", ("reasoning_effort", "none")),
    ),
    "DeepSeek, a forced call": (
        *("openai_native", {"provider_model": "gpt-4o"}, openai("deepseek-reasoner does not support this tool_choice")),
        *(lambda body: body.get("tool_choice") == "required", ("tool_choice", "auto")),
    ),
    "DeepSeek, thinking that is missing": (
        *("openai_native", {}),
        openai("Missing `reasoning_content` field in the assistant message at message index 2."),
        lambda body: "reasoning_content" not in body["messages"][2],
        ("thinking_field", "reasoning_content"),
    ),
    "Mistral, ids of calls": (
        *("openai_native", {}),
        {"object": "error", "message": "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."},
        *(lambda body: len(body["messages"][2]["tool_calls"][0]["id"]) != 9, ("call_id_length", 9)),
    ),
    "FastAPI, an unknown field": (
        *("openai_native", {}),
        {
            "detail": [
                {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}
            ]
        },
        *(has("stream_options"), ("stream_usage", False)),
    ),
    "Gemini, an unknown field": (
        *("openai_native", {"provider_model": "gpt-4o"}),
        [{"error": {"code": 400, "message": 'Unknown name "parallel_tool_calls": Cannot find field.'}}],
        *(has("parallel_tool_calls"), ("parallel_tool_calls", True)),
    ),
    "vLLM, roles that do not alternate": (
        *("openai_native", {}, openai("Conversation roles must alternate user/assistant/user/assistant/...")),
        *(lambda body: [m["role"] for m in body["messages"]][-2:] == ["user", "user"], ("alternate_roles", True)),
    ),
    "Anthropic, a budget of thinking": (
        *("anthropic_native", {"thinking_budget": 2_000}, anthropic(ADAPTIVE)),
        *(lambda body: "budget_tokens" in body.get("thinking", {}), ("thinking_form", "adaptive")),
    ),
    "Anthropic, adaptive thinking": (
        *("anthropic_native", {"thinking_budget": 2_000, "provider_model": "claude-opus-4-9"}, anthropic(NO_ADAPTIVE)),
        *(lambda body: body.get("thinking", {}).get("type") == "adaptive", ("thinking_form", "budget")),
    ),
    "Anthropic, a forced call": (
        *("anthropic_native", {"provider_model": "claude-4"}),
        anthropic("Thinking may not be enabled when tool_choice forces tool use."),
        *(lambda body: body.get("tool_choice", {}).get("type") == "any", ("tool_choice", "auto")),
    ),
    "Anthropic, temperature": (
        *("anthropic_native", {"temperature": 0.2}, anthropic("`temperature` is deprecated for this model.")),
        *(has("temperature"), ("unsupported", "temperature")),
    ),
    "a gateway to Anthropic, cache points": (
        *("anthropic_native", {}, anthropic("system.0.cache_control: Extra inputs are not permitted")),
        *(lambda body: "cache_control" in body["system"][0], ("cache_points", False)),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_rejection_teaches_a_quirk_and_the_call_is_answered(
    name: str, model: LogicalModel, servers: list[FakeProvider]
) -> None:
    protocol, fields, body, refused, learned = REFUSALS[name]
    Provider.objects.update(protocol=protocol)
    model.routes.update(**fields)
    servers[0].replies, watcher = [refusing(body, refused)], Watcher()
    assert complete(model, watcher) == "fine"
    assert (len(servers[0].received), watcher.failures, len(watcher.adaptions)) == (2, [], 1)
    row = LearnedQuirk.objects.get()
    assert (row.quirk, row.value) == learned
    assert "HTTP 400" in row.reason
    assert list(LLMLog.objects.order_by("created_at").values_list("attempt", "status")) == [
        (1, "failed"),
        (1, "succeeded"),
    ]
    assert complete(model) == "fine"
    assert len(servers[0].received) == 3, "a later call knows it"


def test_a_configured_quirk_overrides_a_learned_one(model: LogicalModel, servers: list[FakeProvider]) -> None:
    model.routes.update(quirks={"max_tokens_field": "max_tokens"})
    route = model.routes.get()
    LearnedQuirk.objects.create(
        provider=route.provider,
        provider_model=route.provider_model,
        quirk="max_tokens_field",
        value="max_completion_tokens",
        reason="",
    )
    servers[0].replies = [refusing(openai(WORDS_OF_GPT, "max_tokens"), has("max_tokens"))]
    with pytest.raises(errors.BadRequest):
        complete(model)
    assert len(servers[0].received) == 1


def test_several_quirks_are_learned_in_one_call(model: LogicalModel, servers: list[FakeProvider]) -> None:
    model.routes.update(temperature=0.2, extra_body={"top_p": 0.5})

    def answer(received: Received) -> Reply:
        for field in ("temperature", "top_p", "stream_options"):
            if field in received.body:
                body = openai(f"Unsupported parameter: '{field}'", field, "unsupported_parameter")
                return Reply(status=400, chunks=[json.dumps(body).encode()])
        return openai_text("fine")

    servers[0].replies, watcher = [answer], Watcher()
    assert complete(model, watcher) == "fine"
    assert (len(servers[0].received), len(watcher.adaptions)) == (4, 3)


def test_a_provider_that_rejects_everything_is_asked_once_per_quirk(
    model: LogicalModel, servers: list[FakeProvider]
) -> None:
    model.routes.update(temperature=0.2)
    servers[0].replies = [refusing(openai("Unsupported: 'temperature'", "temperature"), lambda body: True)]
    with pytest.raises(errors.BadRequest):
        complete(model)
    assert len(servers[0].received) == 2
    assert not LearnedQuirk.objects.exists(), "it did not help"


@pytest.mark.parametrize(
    "body",
    [
        openai("Unsupported parameter: 'top_k' is not supported.", "top_k"),  # which was not sent
        openai("This model's maximum context length is 200000 tokens; max_tokens is not supported", "max_tokens"),
        openai("Invalid 'messages[2].content': temperature is unknown to me", "temperature_of_the_day"),
        openai("max_tokens is too large: 8192.", "max_tokens"),  # no limit is named
        openai("max_tokens is too small: 8192. It must be at least 16384.", "max_tokens"),
    ],
)
def test_other_rejections_teach_nothing(body: Any, model: LogicalModel, servers: list[FakeProvider]) -> None:
    servers[0].replies = [refusing(body, lambda body: True)]
    with pytest.raises(errors.BadRequest):
        complete(model)
    assert (len(servers[0].received), LearnedQuirk.objects.count()) == (1, 0)


def test_a_learned_quirk_applies_to_one_model_until_it_is_deleted(
    model: LogicalModel, servers: list[FakeProvider]
) -> None:
    servers[0].replies = [refusing(openai("Unknown: 'stream_options'", "stream_options"), has("stream_options"))]
    complete(model)
    LearnedQuirk.objects.all().delete()
    complete(model)
    assert len(servers[0].received) == 4
    model.routes.update(provider_model="another")
    complete(model)
    assert LearnedQuirk.objects.filter(provider_model="another").exists()

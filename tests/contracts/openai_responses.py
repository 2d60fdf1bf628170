"""OpenAI's Responses API: rules for items that belong together, and encrypted reasoning."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from tests.contracts.contract import Contract, Refusal
from tests.contracts.openai_chat import efforts_of, key, reasons, unsupported, unsupported_value
from tests.contracts.openai_stream import openai_error
from tests.contracts.openai_tools import bad_reply_schema, bad_tool, too_long, unknown_parameter
from tests.contracts.said import Called, Said
from tests.provider import PAUSE, Reply, sse

# fmt: off
_FIELDS = frozenset({
    "model", "input", "instructions", "stream", "stream_options", "store", "include", "max_output_tokens",
    "temperature", "top_p", "top_logprobs", "tools", "tool_choice", "parallel_tool_calls", "max_tool_calls", "reasoning",
    "text", "metadata", "truncation", "user", "service_tier", "prompt_cache_key", "prompt_cache_retention",
    "safety_identifier", "previous_response_id", "conversation", "background", "prompt",
})
_ITEM_FIELDS = {
    "message": frozenset({"type", "id", "role", "content", "status", "phase"}),
    "function_call": frozenset({"type", "id", "call_id", "name", "arguments", "status"}),
    "function_call_output": frozenset({"type", "id", "call_id", "output", "status"}),
    "reasoning": frozenset({"type", "id", "summary", "content", "encrypted_content"}),
}
# fmt: on


def encrypted(item_id: str, summary: Any) -> str:
    """Return encrypted reasoning, so that a rule can check that both came back unchanged."""
    return "gAAA" + hashlib.sha256(json.dumps([item_id, summary]).encode()).hexdigest()


def parameters(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/teabranch/open-responses-server/issues/41 (the words); platform.openai.com/docs/guides/reasoning
    and /docs/guides/latest-model (sampling and effort); github.com/openai/openai-agents-js/issues/546 (`include`)."""
    if refusal := unknown_parameter(body, _FIELDS):
        return refusal
    if body.get("max_output_tokens", 16) < 16:
        words = "integer below minimum value. Expected a value >= 16."
        code = "integer_below_min_value"
        return Refusal(message=f"Invalid 'max_output_tokens': {words}", param="max_output_tokens", code=code)
    return _reasoning_parameters(body)


def _reasoning_parameters(body: Mapping[str, Any]) -> Refusal | None:
    effort = (body.get("reasoning") or {}).get("effort")
    if not reasons(body["model"]):
        if "reasoning.encrypted_content" in body.get("include", ()):
            return Refusal(message="Encrypted content is not supported with this model.", param="include")
        return unsupported("reasoning.effort") if effort else None
    if wrong := next((name for name in ("temperature", "top_p", "top_logprobs") if name in body), ""):
        return unsupported(wrong)
    if effort and effort not in efforts_of(body["model"]):
        return unsupported_value("reasoning.effort", f"does not support '{effort}' with this model.")
    return None


def tools(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Check the tools. Functions are flat here, and strict by default.

    Sources: github.com/diegosouzapw/OmniRoute/issues/1914 (flat); platform.openai.com/docs/guides/migrate-to-responses
    ("functions are strict by default"); see also `bad_tool`.
    """
    return bad_tool([{"strict": True} | tool for tool in body.get("tools", ())], "tools[{}]")


def text_format(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: see `bad_reply_schema`."""
    given = (body.get("text") or {}).get("format") or {}
    return bad_reply_schema(given, "text.format.schema") if given.get("type") == "json_schema" else None


def items(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/BerriAI/litellm/issues/13420 (unknown fields), github.com/openclaw/openclaw/pull/875 (64)."""
    for number, item in enumerate(body["input"]):
        kind = item.get("type", "message")
        if kind not in _ITEM_FIELDS:
            return Refusal(message=f"Invalid value: '{kind}'.", param=f"input[{number}]", code="invalid_value")
        if refusal := unknown_parameter(item, _ITEM_FIELDS[kind], f"input[{number}]."):
            return refusal
        if refusal := too_long(f"input[{number}].call_id", item.get("call_id", ""), 64):
            return refusal
        for part in item["content"] if isinstance(item.get("content"), list) else ():
            if part["type"].startswith("input_") == (item["role"] == "assistant"):
                words = f"Invalid value: '{part['type']}'."
                return Refusal(message=words, param=f"input[{number}].content[0]", code="invalid_value")
    return None


def pairs(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/openai/openai-agents-python/issues/673, github.com/continuedev/continue/issues/10092."""
    called = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
    answered = [item["call_id"] for item in body["input"] if item.get("type") == "function_call_output"]
    if missing := next((call_id for call_id in called if call_id not in answered), ""):
        return Refusal(message=f"No tool output found for function call {missing}.", param="input")
    if orphan := next((call_id for call_id in answered if call_id not in called), ""):
        return Refusal(message=f"No tool call found for function call output with call_id {orphan}.", param="input")
    return None


def reasoning(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/vercel/ai/issues/7099 (what must follow), /7543 (nothing is stored);
    platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items, github.com/openai/codex/issues/8145 (unchanged)."""
    following = [*body["input"][1:], {"type": "end"}]
    for item, after in zip(body["input"], following, strict=True):
        if item.get("type") != "reasoning":
            continue
        name = f"'{item.get('id')}'"
        if not item.get("encrypted_content"):
            words = "Items are not persisted when `store` is set to false."
            return Refusal(status=404, message=f"Item with id {name} not found. {words}", param="input")
        if item["encrypted_content"] != encrypted(item["id"], item["summary"]):
            words = "The encrypted content could not be verified."
            return Refusal(message=words, code="invalid_encrypted_content")
        if after.get("type") not in ("function_call", "reasoning") and after.get("role") != "assistant":
            words = f"Item {name} of type 'reasoning' was provided without its required following item."
            return Refusal(message=words, param="input")
    return None


# --- answers ------------------------------------------------------------------------------------------------------


def answer(said: Said, body: Any) -> Reply:
    events = [{"type": "response.created", "response": {"object": "response", "status": "in_progress", "output": []}}]
    place = 0
    if said.thinking and "reasoning.encrypted_content" in body.get("include", ()):
        events += _reasoned(said.thinking, place)
        place += 1
    if said.words:
        events += _worded(said.words, place)
        place += 1
    for call in said.calls:
        events += _called(call, place)
        place += 1
    if said.pause:
        return Reply(chunks=[*sse(*events[:-2]), PAUSE])
    if said.cut:
        events = events[:-2]
    return Reply(chunks=sse(*events, _end(body, is_cut=said.cut)))


def _end(body: Any, *, is_cut: bool) -> dict[str, Any]:
    status = "incomplete" if is_cut else "completed"
    details = {"reason": "max_output_tokens"} if is_cut else None
    usage = {"input_tokens": len(json.dumps(body)) // 4, "output_tokens": 20}
    response = {"object": "response", "status": status, "incomplete_details": details, "usage": usage}
    return {"type": f"response.{status}", "response": response}


def _item(place: int, begun: dict[str, Any], deltas: Iterator[dict[str, Any]], whole: dict[str, Any]) -> list[Any]:
    grown = [{"output_index": place, **delta} for delta in deltas]
    begin = {"type": "response.output_item.added", "output_index": place, "item": begun}
    return [begin, *grown, {"type": "response.output_item.done", "output_index": place, "item": whole}]


def _reasoned(thinking: str, place: int) -> list[Any]:
    item_id, summary = f"rs_{uuid4().hex}", [{"type": "summary_text", "text": thinking}]
    whole = {"type": "reasoning", "id": item_id, "summary": summary, "encrypted_content": encrypted(item_id, summary)}
    kind = "response.reasoning_summary_text.delta"
    return _item(
        place, {**whole, "summary": []}, ({"type": kind, "delta": piece} for piece in _pieces(thinking)), whole
    )


def _worded(words: str, place: int) -> list[Any]:
    whole = {"type": "message", "id": f"msg_{uuid4().hex}", "role": "assistant"}
    content = [{"type": "output_text", "text": words}]
    deltas = ({"type": "response.output_text.delta", "delta": piece} for piece in _pieces(words))
    return _item(place, {**whole, "content": []}, deltas, {**whole, "content": content})


def _called(call: Called, place: int) -> list[Any]:
    whole = {"type": "function_call", "id": f"fc_{uuid4().hex}", "call_id": call.id, "name": call.name}
    deltas = ({"type": "response.function_call_arguments.delta", "delta": piece} for piece in _pieces(call.text))
    return _item(place, {**whole, "arguments": ""}, deltas, {**whole, "arguments": call.text})


def _pieces(text: str) -> list[str]:
    size = max(1, len(text) // 4)
    return [text[start : start + size] for start in range(0, len(text), size)]


RESPONSES = Contract(
    name="openai_responses_newest",
    model="gpt-6.1-sol",
    protocols=("openai_responses",),
    rules=(key, parameters, tools, text_format, items, pairs, reasoning),
    answer=answer,
    error=openai_error,
    endpoint="/v1/responses",
)
RESPONSES_GPT_4 = replace(RESPONSES, name="openai_responses_gpt_4", model="gpt-4.1")

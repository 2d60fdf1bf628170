"""vLLM: it parses the history, and compiles the schema of a reply with xgrammar."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from tests.contracts.contract import Contract, Refusal
from tests.contracts.grammars import xgrammar_fault
from tests.contracts.openai_messages import unpaired
from tests.contracts.openai_stream import chat_answer, json_reply
from tests.provider import Reply

WINDOW = 60_000  # tokens


def tools(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: check_tool_usage in vllm/entrypoints/openai/chat_completion/protocol.py of github.com/vllm-project/vllm."""
    if body.get("tools") == []:
        return _bad("`tools` must not be an empty array. Either provide at least one tool or omit the field entirely.")
    if body.get("tool_choice", "none") != "none" and not body.get("tools"):
        return _bad("When using `tool_choice`, `tools` must be set.")
    if body.get("stream_options") and not body.get("stream"):
        return _bad("Stream options can only be defined when `stream=True`.")
    return None


def without_parser(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Return the rejection of a server without a tool-call parser.

    Source: github.com/langchain4j/langchain4j/issues/3475.
    """
    words = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    return _bad(words) if body.get("tools") and body.get("tool_choice", "auto") == "auto" else None


def history(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Check the history: arguments are parsed, and templates and the Mistral tokenizer raise for unpaired calls and
    results.

    Sources: _postprocess_messages in vllm/entrypoints/chat_utils.py of github.com/vllm-project/vllm, and its issue
    /43995.
    """
    for message in body["messages"]:
        if message["role"] != "assistant" and message.get("content") is None:
            return _bad("1 validation error for ValidatorIterator: content: Field required")
        for call in message.get("tool_calls", ()):
            try:
                value = json.loads(call["function"]["arguments"] or "{}")
            except ValueError as error:
                return _bad(str(error))
            if not isinstance(value, dict):
                return _bad(f"Tool call arguments must be a JSON object, got {type(value).__name__}")
    if fault := unpaired(body["messages"]):
        return _bad(fault.message)
    return None


def structured_outputs(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: see `xgrammar_fault`; docs.vllm.ai/en/latest/features/structured_outputs (guided_json was removed in
    0.12, `structured_outputs` replaces it).
    """
    reply = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    for schema in (reply, body.get("guided_json"), (body.get("structured_outputs") or {}).get("json")):
        if schema is not None and (fault := xgrammar_fault(schema)):
            return _bad(fault)
    return None


def length(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: vllm/renderers/params.py in github.com/vllm-project/vllm."""
    asked = body.get("max_completion_tokens") or body.get("max_tokens") or 0
    given = len(json.dumps(body["messages"])) // 4
    if given + asked <= WINDOW:
        return None
    words = f"This model's maximum context length is {WINDOW} tokens. However, you requested {asked} output tokens"
    return _bad(f"{words} and your prompt contains at least {given} input tokens")


def _bad(message: str) -> Refusal:
    return Refusal(message=message, type="BadRequestError")


def vllm_error(refusal: Refusal) -> Reply:
    """Source: ErrorResponse in vllm/entrypoints/openai of github.com/vllm-project/vllm."""
    fields = {"message": refusal.message, "type": refusal.type, "param": refusal.param, "code": refusal.status}
    return json_reply(refusal.status, {"error": fields})


VLLM = Contract(
    name="vllm",
    model="Qwen/Qwen3-32B",
    protocols=("openai_native", "json_schema", "openai_xml"),
    rules=(tools, history, structured_outputs, length),
    answer=partial(chat_answer, thinking_field="reasoning"),
    error=vllm_error,
)

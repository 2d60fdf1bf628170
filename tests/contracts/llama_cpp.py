"""llama.cpp's server: its chat template reads the history, and every schema is compiled into a grammar."""

import json
from collections.abc import Mapping
from typing import Any

from tests.contracts.contract import Contract, Refusal
from tests.contracts.grammars import llama_cpp_fault
from tests.contracts.openai_messages import is_object, unpaired
from tests.contracts.openai_stream import json_reply, thinking_answer
from tests.provider import Reply

WINDOW = 60_000  # tokens


def contents(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: oaicompat_chat_params_parse in tools/server/server-common.cpp of github.com/ggml-org/llama.cpp."""
    for message in body["messages"]:
        content = message.get("content")
        if message["role"] != "assistant" and "content" not in message:
            return Refusal(message="All non-assistant messages must contain 'content'")
        if message["role"] == "assistant" and content is None and not message.get("tool_calls"):
            return Refusal(message="Assistant message must contain either 'content' or 'tool_calls'!")
        for part in content if isinstance(content, list) else ():
            if part["type"] not in ("text", "image_url"):
                return Refusal(message="unsupported content[].type")
            if part["type"] == "image_url" and not part["image_url"]["url"].startswith("data:image/"):
                return _server_error("Invalid uri-encoded base64 value")
    return None


def history(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Check the history: the template gets arguments as an object, and most templates raise on a result without its
    call.

    Sources: common/chat.cpp (func_args_not_string) in github.com/ggml-org/llama.cpp, its issue /19851.
    """
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            if not is_object(call["function"]["arguments"]):
                return _server_error("Failed to parse tool call arguments as JSON")
    if unpaired(body["messages"]):
        return _server_error("Jinja Exception: Unexpected tool message: it follows no call")
    if [message["role"] for message in body["messages"]].count("system") > 1:
        return _server_error("Jinja Exception: System message must be at the beginning.")
    return None


def alternating_roles(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Templates of Mistral's and Gemma's models. Source: github.com/ggml-org/llama.cpp/issues/19851."""
    roles = [message["role"] for message in body["messages"] if message["role"] != "system"]
    pairs = zip(["", *roles], roles, strict=False)
    if any(before == role and role in ("user", "assistant") for before, role in pairs):
        rule = "conversation roles must alternate user and assistant roles except for tool calls and results."
        return _server_error(f"Jinja Exception: After the optional system message, {rule}")
    return None


def schemas(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: see `llama_cpp_fault`."""
    reply = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    for schema in [*(tool["function"]["parameters"] for tool in body.get("tools", ())), reply]:
        if fault := llama_cpp_fault(schema):
            return Refusal(message=fault)
    return None


def length(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: github.com/ggml-org/llama.cpp/pull/15780."""
    if len(json.dumps(body["messages"])) // 4 > WINDOW:
        words = "the request exceeds the available context size, try increasing it"
        return Refusal(message=words, type="exceed_context_size_error")
    return None


def without_jinja(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: tools/server/server-common.cpp in github.com/ggml-org/llama.cpp."""
    return _server_error("tools param requires --jinja flag") if body.get("tools") else None


def without_mmproj(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: tools/server/server-common.cpp in github.com/ggml-org/llama.cpp."""
    kinds = [part["type"] for m in body["messages"] if isinstance(m.get("content"), list) for part in m["content"]]
    hint = "hint: if this is unexpected, you may need to provide the mmproj"
    return _server_error(f"image input is not supported - {hint}") if "image_url" in kinds else None


def _server_error(message: str) -> Refusal:
    return Refusal(status=500, type="server_error", message=message)


def llama_cpp_error(refusal: Refusal) -> Reply:
    """Source: format_error_response in tools/server/server-common.cpp of github.com/ggml-org/llama.cpp."""
    fields = {"code": refusal.status, "message": refusal.message, "type": refusal.type}
    return json_reply(refusal.status, {"error": fields})


LLAMA_CPP = Contract(
    name="llama_cpp",
    model="qwen3-8b-q4",
    protocols=("openai_native", "json_schema", "openai_xml"),
    rules=(contents, history, schemas, length),
    answer=thinking_answer,
    error=llama_cpp_error,
)

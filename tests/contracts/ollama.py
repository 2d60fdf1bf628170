"""Ollama's endpoint for OpenAI's chat completions: it only reads known fields, and rejects few of them."""

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from tests.contracts.contract import Contract, Refusal
from tests.contracts.grammars import llama_cpp_fault, parts
from tests.contracts.openai_stream import chat_answer, openai_error

_PICTURE = re.compile(r"data:(image/(jpeg|jpg|png|webp))?;base64,[A-Za-z0-9+/]+=*")


def contents(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: FromChatRequest in openai/openai.go of github.com/ollama/ollama."""
    for message in body["messages"]:
        content = message.get("content")
        if content is None and not message.get("tool_calls"):
            return Refusal(message="invalid message content type: <nil>")
        for part in content if isinstance(content, list) else ():
            if part["type"] not in ("text", "image_url"):
                return Refusal(message="invalid message format")
            if part["type"] == "image_url" and not _PICTURE.fullmatch(part["image_url"]["url"]):
                return Refusal(message="invalid image input")
    return None


def arguments(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Check the arguments, which are read into a map.

    Source: FromChatRequest in openai/openai.go of github.com/ollama/ollama.
    """
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            try:
                value = json.loads(call["function"]["arguments"])
            except ValueError:
                value = None
            if not isinstance(value, dict):
                return Refusal(message="invalid tool call arguments")
    return None


def tools(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Check the tools, which are read into Go types: a property is an object, its type a string or a list of strings.

    Source: ToolFunction and ToolProperty in api/types.go of github.com/ollama/ollama.
    """
    for tool in body.get("tools", ()):
        schema = tool["function"]["parameters"]
        for name, given in schema.get("properties", {}).items():
            if not isinstance(given, Mapping):
                where = f"Go struct field ToolFunctionParameters.tools.function.parameters.properties.{name}"
                return Refusal(message=f"json: cannot unmarshal bool into {where}")
        if not isinstance(schema.get("required", []), list) or not isinstance(schema.get("type"), str):
            return Refusal(message="json: cannot unmarshal into Go struct field ToolFunctionParameters.tools")
    return None


def without_tools(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """A model whose template knows no tools. Source: github.com/ollama/ollama/issues/6027."""
    words = f"registry.ollama.ai/library/{body['model']} does not support tools"
    return Refusal(message=words, type="api_error") if body.get("tools") else None


def reply_schema(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Check the schema, which llama.cpp's code compiles.

    Source: llama/llama.go (SchemaToGrammar) in github.com/ollama/ollama.
    """
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema") or body.get("format") or {}
    if (fault := llama_cpp_fault(schema)) or any("$ref" in part and len(part) > 1 for part in parts(schema)):
        return Refusal(status=500, type="api_error", message=f"invalid JSON schema in format: {fault}")
    return None


OLLAMA = Contract(
    name="ollama",
    model="qwen3:8b",
    protocols=("openai_native", "json_schema", "openai_xml"),
    rules=(contents, arguments, tools, reply_schema),
    answer=partial(chat_answer, thinking_field="reasoning"),
    error=openai_error,
)

"""OpenAI's rules for the messages of chat completions."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.contracts.contract import Refusal
from tests.contracts.openai_tools import NAME, too_long, unknown_parameter

_FORMATS = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*")


def pairs(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/aliasrobotics/cai/issues/111, github.com/spring-ai-community/spring-ai-session/issues/44."""
    return unpaired(body["messages"])


def unpaired(messages: Sequence[Mapping[str, Any]]) -> Refusal | None:
    """Return a result without its call right before it, or a call without its result right after it."""
    open_ids: list[str] = []
    for number, message in enumerate([*messages, {"role": "end"}]):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_ids:
                words = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                return Refusal(message=f"Invalid parameter: {words}", param=f"messages.[{number}].role")
            open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            why = "must be followed by tool messages responding to each 'tool_call_id'."
            which = f"The following tool_call_ids did not have response messages: {', '.join(open_ids)}"
            words = f"An assistant message with 'tool_calls' {why} {which}"
            return Refusal(message=words, param=f"messages.[{number}].role")
        open_ids = [call["id"] for call in message.get("tool_calls", ())]
    return None


def call_ids(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Source: github.com/agno-agi/agno/issues/5382."""
    for number, message in enumerate(body["messages"]):
        for index, call in enumerate(message.get("tool_calls", ())):
            if refusal := too_long(f"messages[{number}].tool_calls[{index}].id", call["id"], 40):
                return refusal
    return None


def tool_calls(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: github.com/mcp-use/mcp-use/issues/90 (names); arguments must
    be JSON at Azure's and most gateways (github.com/router-for-me/CLIProxyAPI/issues/2001)."""
    for number, message in enumerate(body["messages"]):
        for index, call in enumerate(message.get("tool_calls", ())):
            place = f"messages[{number}].tool_calls[{index}]"
            if not NAME.fullmatch(call["function"]["name"]):
                words = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
                param = f"{place}.function.name"
                return Refusal(message=f"Invalid '{param}': {words}", param=param, code="invalid_value")
            if not is_object(call["function"]["arguments"]):
                param = f"{place}.function.arguments"
                return Refusal(message=f"Invalid '{param}': it is no JSON object.", param=param, code="invalid_value")
    return None


def is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


_MESSAGE_FIELDS = {
    "system": frozenset({"role", "content", "name"}),
    "developer": frozenset({"role", "content", "name"}),
    "user": frozenset({"role", "content", "name"}),
    "assistant": frozenset({"role", "content", "name", "refusal", "tool_calls", "audio"}),
    "tool": frozenset({"role", "content", "tool_call_id"}),
}


def contents(body: Any, headers: Mapping[str, str]) -> Refusal | None:
    """Sources: platform.openai.com/docs/api-reference/chat/create (messages), github.com/openai/openai-node/issues/1030
    and github.com/OpenHands/OpenHands/issues/7700 (pictures), /docs/guides/images-vision (formats)."""
    for number, message in enumerate(body["messages"]):
        role, content = message["role"], message.get("content")
        if refusal := unknown_parameter(message, _MESSAGE_FIELDS[role], f"messages[{number}]."):
            return refusal
        if content is None and not message.get("tool_calls"):
            words = "Invalid value for 'content': expected a string, got null."
            return Refusal(message=words, param=f"messages.[{number}].content")
        if content == []:
            return Refusal(message=f"Invalid 'messages[{number}].content': empty array.", code="empty_array")
        for part in content if isinstance(content, list) else ():
            if refusal := _bad_part(part, number, role):
                return refusal
    return None


def _bad_part(part: Mapping[str, Any], number: int, role: str) -> Refusal | None:
    if part["type"] != "image_url":
        return None
    if role != "user":
        words = f"but this message with role '{role}' contains an image URL."
        words = f"Invalid 'messages[{number}]'. Image URLs are only allowed for messages with role 'user', {words}"
        return Refusal(message=words, param=f"messages[{number}]", code="invalid_value")
    if not _FORMATS.fullmatch(part["image_url"]["url"]):
        words = "You uploaded an unsupported image. Please make sure your image is valid."
        return Refusal(message=words, code="invalid_image_format")
    return None

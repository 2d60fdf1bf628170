"""Conversations that real providers refuse: a call without its result, or arguments that are not a JSON object.

vLLM parses the arguments of each call in the history (_postprocess_messages in vllm/entrypoints/chat_utils.py) and
answers 400 (github.com/vllm-project/vllm/issues/43995). So do llama.cpp (its chat templates), SGLang, which requires an
object (github.com/sgl-project/sglang/pull/28035), and litellm on its way to Gemini.
"""

import json
from collections.abc import Iterator
from typing import Any

Said = tuple[str, str]  # role ("user", "assistant", "call", "result") and id of the call, if the protocol has one


def fault_in(body: dict[str, Any]) -> str:
    """Return the fault of the conversation, or ""."""
    if unreadable := next(_unreadable_arguments(body), ""):
        return f"the arguments {unreadable!r} are no JSON object"
    said = list(_said(body))
    if not said or said[0][0] != "user":
        return "a user speaks first"
    for before, (who, call_id) in zip([("", ""), *said], said, strict=False):
        if who == "result" and before != ("call", call_id):
            return f"the result {call_id} follows no call of its own"
        if before[0] == "call" and who != "result":
            return f"no result follows the call {before[1]}"
    return "the last call has no result" if said[-1][0] == "call" else ""


def _said(body: dict[str, Any]) -> Iterator[Said]:
    in_text = "tools" not in body
    for message in body["messages"]:
        if message["role"] != "system":
            yield from (_in_text(message) if in_text else _in_blocks(message))


def _unreadable_arguments(body: dict[str, Any]) -> Iterator[str]:
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            arguments = call["function"]["arguments"]
            if arguments and not _is_object(arguments):
                yield arguments


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _in_text(message: dict[str, Any]) -> Iterator[Said]:
    content = message["content"]
    text = content if isinstance(content, str) else "".join(block["text"] for block in content)
    assert text.strip(), "an empty message"
    if message["role"] == "user":
        yield ("result" if text.startswith("<tool_result>") else "user"), ""
    else:
        yield ("call" if text.endswith(("</function_calls>", "}")) else "assistant"), ""


def _in_blocks(message: dict[str, Any]) -> Iterator[Said]:
    """Yield the roles of OpenAI's messages and of Anthropic's, whose calls and results are blocks of the content."""
    if message["role"] == "tool":
        yield "result", message["tool_call_id"]
        return
    blocks = message["content"] if isinstance(message.get("content"), list) else []
    called = [block["id"] for block in [*blocks, *message.get("tool_calls", ())] if block["type"] in _CALLS]
    given = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if not called and not given:
        assert json.dumps(message.get("content") or "") != '""', "an empty message"
        yield message["role"], ""
    yield from (("result", call_id) for call_id in given)
    yield from (("call", call_id) for call_id in called)


_CALLS = ("tool_use", "function")

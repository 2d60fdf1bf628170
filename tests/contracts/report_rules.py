"""The rules by which the providers of reports refuse requests. Each returns whether a request breaks it."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from tests.provider import Received


def contains(received: Received, words: str) -> bool:
    """The request contains these words."""
    return words in json.dumps(received.body, ensure_ascii=False)


def lacks(received: Received, words: str) -> bool:
    """The request has a call, but does not contain these words."""
    return contains(received, "tool_calls") and not contains(received, words)


def contains_unless(received: Received, words: str, *exceptions: str) -> bool:
    """The request contains these words, and none of the exceptions."""
    return contains(received, words) and not any(contains(received, exception) for exception in exceptions)


def longer_than(received: Received, characters: int) -> bool:
    """The request, as JSON text, has more characters."""
    return len(received.raw.decode()) > characters


def null_content(received: Received) -> bool:
    """A message has the content null."""
    return any(message.get("content", "") is None for message in received.body["messages"])


def max_over(received: Received, tokens: int) -> bool:
    """The request asks for more output tokens."""
    return any(size > tokens for size in requested_sizes(received))


def requested_sizes(received: Received) -> list[int]:
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    return [received.body[name] for name in names if name in received.body]


def more_tools_than(received: Received, count: int) -> bool:
    """The request declares more tools."""
    return len(received.body.get("tools", [])) > count


def longer_description(received: Received, characters: int) -> bool:
    """The description of a tool has more characters."""
    tools = (tool.get("function", tool) for tool in received.body.get("tools", []))
    return any(len(tool.get("description") or "") > characters for tool in tools)


def cache_controls_over(received: Received, count: int) -> bool:
    """The request has more cache points."""
    return received.raw.count(b'"cache_control"') > count


def user_after_tool(received: Received) -> bool:
    """A user's message follows a result."""
    return ("tool", "user") in pairwise(message["role"] for message in received.body["messages"])


def bad_alternation(received: Received) -> bool:
    """The roles do not alternate. The system prompt does not count, and a result counts as a user's message."""
    names = {"tool": "user"}
    roles = [names.get(message["role"], message["role"]) for message in received.body["messages"]]
    spoken = [role for role in roles if role != "system"]
    return spoken[:1] == ["assistant"] or any(first == second for first, second in pairwise(spoken))


def unthought_call(received: Received) -> bool:
    """An assistant's message has a call but no thinking."""
    return any("tool_use" in kinds and "thinking" not in kinds for kinds in _kinds_of_blocks(received))


def unthought_unless_disabled(received: Received) -> bool:
    """An assistant's message has a call but no thinking, and thinking is not disabled."""
    return received.body.get("thinking", {}).get("type") != "disabled" and unthought_call(received)


def unthought_content_unless_disabled(received: Received) -> bool:
    """A call of chat completions has no thinking or an empty one, and thinking is not disabled."""
    calls = (message for message in received.body["messages"] if message.get("tool_calls"))
    is_disabled = received.body.get("thinking", {}).get("type") == "disabled"
    return not is_disabled and any(not message.get("reasoning_content") for message in calls)


def unthought_while_enabled(received: Received) -> bool:
    """An assistant's message has a call but no thinking, and thinking is enabled."""
    is_enabled = received.body.get("thinking", {}).get("type") in ("enabled", "adaptive")
    return is_enabled and unthought_call(received)


def unreasoned_call(received: Received) -> bool:
    """An assistant's message has a call but no `reasoning_content`."""
    return any(
        "tool_calls" in message and not message.get("reasoning_content") for message in received.body["messages"]
    )


def unsigned_thinking(received: Received) -> bool:
    """An assistant's message has thinking without a signature."""
    contents = (message["content"] for message in received.body["messages"] if isinstance(message["content"], list))
    blocks = (block for content in contents for block in content)
    return any(block["type"] == "thinking" and not block.get("signature") for block in blocks)


def budget_not_below_max(received: Received) -> bool:
    """The thinking budget is not below the limit of the output."""
    return bool(received.body.get("thinking", {}).get("budget_tokens", 0) >= received.body["max_tokens"])


def orphan_call(received: Received) -> bool:
    """A call with the id of its item follows no reasoning (Responses API)."""
    items = received.body["input"]
    pairs = zip([{}, *items], items, strict=False)
    return any(
        item.get("type") == "function_call" and "id" in item and before.get("type") != "reasoning"
        for before, item in pairs
    )


def any_tool_choice(received: Received) -> bool:
    """The request has a tool choice."""
    return "tool_choice" in received.body


def forced_tool_choice(received: Received) -> bool:
    """The tool choice is neither automatic nor none."""
    choice = received.body.get("tool_choice", "auto")
    name = choice.get("type") if isinstance(choice, dict) else choice
    return name not in ("auto", "none")


def _kinds_of_blocks(received: Received) -> Iterator[set[str]]:
    for message in received.body["messages"]:
        if message["role"] == "assistant" and isinstance(message["content"], list):
            yield {block["type"] for block in message["content"]}


def sealed_with(received: Received, beginning: str) -> bool:
    """A sealed part (a signature, or encrypted content) begins so."""
    return any(value.startswith(beginning) for value in _sealed(received.body))


def _sealed(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _sealed(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in ("signature", "encrypted_content", "thought_signature", "data") and isinstance(item, str):
                yield item
            else:
                yield from _sealed(item)


RULES: dict[str, Callable[..., bool]] = {
    rule.__name__: rule
    for rule in (
        *(contains, longer_than, null_content, max_over, more_tools_than, longer_description, cache_controls_over),
        *(user_after_tool, bad_alternation, unthought_call, unthought_unless_disabled, sealed_with, lacks),
        *(unthought_content_unless_disabled, contains_unless),
        *(unthought_while_enabled, unreasoned_call, any_tool_choice, forced_tool_choice),
        *(unsigned_thinking, budget_not_below_max, orphan_call),
    )
}

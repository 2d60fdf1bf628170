"""Orders of roles that providers and chat templates demand, and descriptions within a limit."""

from itertools import pairwise
from typing import Any

import orjson
import pytest

from llm_app.adapters.anthropic_native import AnthropicNative
from llm_app.adapters.base import RouteParameters
from llm_app.adapters.descriptions import cut_at_sentence, with_short_descriptions
from llm_app.adapters.openai_native import OpenAINative
from llm_app.types import Message, Picture, Prompt, ToolCall, ToolSpec

PICTURE = Picture(path="a.png", media_type="image/png", width=1, height=1, data="AA==")
CALL = ToolCall(id="call_1", name="file", arguments="{}")
HISTORY = [
    Message(role="assistant", content="Imported."),
    Message(role="assistant", content="I look.", tool_call=CALL),
    Message(role="tool", content="a", tool_call_id="call_1", pictures=(PICTURE,)),
    Message(role="user", content="A reminder."),
    Message(role="user", content="Go on."),
    Message(role="assistant", tool_call=CALL),
    Message(role="tool", content="b", tool_call_id="call_1"),
    Message(role="user", content="And now?"),
]


def messages_of(adapter: Any, **quirks: Any) -> list[dict[str, Any]]:
    parameters = RouteParameters(model="m", max_tokens=100, takes_images=True, quirks=quirks)
    body = adapter.body(Prompt(system="Be brief.", tools=(), messages=HISTORY), parameters)
    messages: list[dict[str, Any]] = orjson.loads(body)["messages"]
    return [message for message in messages if message["role"] != "system"]


def test_alternating_roles_join_messages_and_separate_results() -> None:
    messages = messages_of(OpenAINative(), alternate_roles=True)
    roles = [{"tool": "user"}.get(message["role"], message["role"]) for message in messages]
    assert roles[0] == "user"
    assert not any(first == second for first, second in pairwise(roles))
    call, result, _, pictures = messages[1:5]
    assert (call["content"], call["tool_calls"][0]["id"]) == ("Imported.\n\nI look.", "call_1")
    assert (result["role"], result["content"]) == ("tool", "a")
    assert [part["text"] for part in pictures["content"] if part["type"] == "text"][1:] == ["A reminder.", "Go on."]


def test_an_assistant_precedes_each_user_after_a_result() -> None:
    messages = messages_of(OpenAINative(), assistant_after_tool=True)
    roles = [message["role"] for message in messages]
    assert ("tool", "user") not in pairwise(roles)
    assert roles.count("assistant") == 5
    assert ("tool", "user") in pairwise(message["role"] for message in messages_of(OpenAINative()))


def test_blocks_of_consecutive_messages_are_joined_over_anthropic_messages() -> None:
    messages = messages_of(AnthropicNative(), alternate_roles=True)
    assert [message["role"] for message in messages] == ["assistant", "user", "assistant", "user"]
    kinds = [[block["type"] for block in message["content"]] for message in messages]
    assert kinds[0] == ["text", "text", "tool_use"]
    assert kinds[1] == ["tool_result", "text", "text"]


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("Reads a file.", 13, "Reads a file."),
        ("Reads a file. Writes another one, too.", 20, "Reads a file. …"),
        ("Reads a very long file with many lines.", 20, "Reads a very long …"),
        ("a" * 30, 20, "a" * 10 + " …"),
    ],
)
def test_descriptions_are_cut_at_a_sentence(text: str, limit: int, expected: str) -> None:
    assert cut_at_sentence(text, limit) == expected
    assert len(expected) <= limit


def test_descriptions_of_arguments_are_cut_but_values_stay() -> None:
    long = "Words and words. " * 10
    schema = {
        "type": "object",
        "properties": {"description": {"type": "string", "description": long, "default": {"description": long}}},
    }
    short = with_short_descriptions(ToolSpec(name="a", description=long, parameters=schema), 40)
    argument = short.parameters["properties"]["description"]
    assert short.description == argument["description"] == "Words and words. Words and words. …"
    assert argument["default"] == {"description": long}

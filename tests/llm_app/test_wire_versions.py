"""The bytes of each version of a protocol never change, because its logs must be rebuilt.

If this fails, a change has altered sent bytes. Then increase the adapter's `version`, keep the old code as its own
adapter in `protocols._EARLIER_VERSIONS`, and add a line for the new version here.
"""

import hashlib

import pytest

from llm_app.adapters.base import RouteParameters
from llm_app.cache_boundary import MARKER
from llm_app.protocols import adapter_of
from llm_app.types import Message, Picture, Prompt, Thinking, ToolCall, ToolSpec

PICTURE = Picture(path="a.png", media_type="image/png", width=2, height=1, data="iVBORw0KGgo=")
SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
PARAMETERS = {
    "model": "m",
    "max_tokens": 4000,
    "temperature": 0.5,
    "thinking_budget": 2000,
    "takes_images": True,
    "extra_body": {"top_p": 0.9, "metadata": {"b": 1, "a": [1.5, None, True]}},
    "quirks": {"thinking_field": "reasoning_content", "thinking_budget_field": "reasoning.max_tokens"},
}
QUIRKY = PARAMETERS | {"takes_images": False, "quirks": {"merge_user_messages": True, "cache_points": False}}
STRICT = PARAMETERS | {"quirks": {"strict_tools": True}}
TOOLS = (
    ToolSpec(
        name="message",
        description="Speaks: “so”.",
        parameters={
            "type": "object",
            "properties": {"text": {"type": "string"}, "type": {"enum": ["info", "result"]}},
            "required": ["text"],
        },
    ),
    ToolSpec(name="shell", description="Runs.", parameters={"type": "object", "properties": {}}),
)


def _thinking(protocol: str) -> Thinking:
    return Thinking(text="Hm.", protocol=protocol, model="m", blocks=(SIGNED,))


def _prompt(protocol: str) -> Prompt:
    call = ToolCall(id="call_1", name="shell", arguments='{"command": "ls\\n", "ö": 1.0}')
    broken = ToolCall(id="call_2", name="shell", arguments="{not json")
    messages = [
        Message(role="user", content="Look, ☂.", pictures=(PICTURE,)),
        Message(role="user", content="<system_reminder>\nToday.\n</system_reminder>"),
        Message(role="assistant", content="So:", tool_call=call, thinking=_thinking(protocol)),
        Message(role="tool", content="a\tb", tool_call_id="call_1", pictures=(PICTURE,)),
        Message(role="assistant", content="no call"),
        Message(role="assistant", tool_call=broken),
        Message(role="tool", content="", tool_call_id="call_2"),
        Message(role="user", content="Go on."),
    ]
    return Prompt(system=f"Be brief.{MARKER}\nYou speak to ada.", tools=TOOLS, messages=messages)


BYTES = {
    ("openai_native", 1): ("openai", ["e522d4de94572767", "20bcf3c54119baa8", "40ca96127c8d5ffc"]),
    ("openai_native", 2): ("openai", ["75278be8efcb9572", "0820c2ed9ac25035", "ef63563f376f0679"]),
    ("openai_responses", 1): ("openai_responses", ["bc1917ef1035fea3", "d70aa28a1257e78a", "bc1917ef1035fea3"]),
    ("openai_xml", 1): ("openai", ["52a7cd1c9e6bdd17", "876e3d39e6351f9a", "844860372f8ccd7c"]),
    ("openai_native", 3): ("openai", ["75278be8efcb9572", "0820c2ed9ac25035", "c9e313a693a7e7f7"]),
    ("anthropic_native", 1): ("anthropic", ["ec29dfa05f175a1b", "c66fd6417933b170", "ec29dfa05f175a1b"]),
    ("anthropic_native", 2): ("anthropic", ["ec29dfa05f175a1b", "c66fd6417933b170", "ec5eff626fa7f562"]),
    ("anthropic_native", 3): ("anthropic", ["ec29dfa05f175a1b", "c66fd6417933b170", "ec5eff626fa7f562"]),
    ("anthropic_xml", 1): ("anthropic", ["c261283193eaf8f2", "17be1e8cad82b9b8", "c261283193eaf8f2"]),
    ("anthropic_xml", 2): ("anthropic", ["c261283193eaf8f2", "17be1e8cad82b9b8", "c261283193eaf8f2"]),
    ("json_schema", 1): ("openai", ["7a413a7ea5f43d92", "3f6b952538742ea7", "500e0ac7014cde96"]),
    ("litellm", 1): ("litellm", ["21f2ce50fa87d1d3", "4c9c63a71911c4d2", "4f040bdf08ef39c5"]),
    ("litellm", 2): ("litellm", ["0b11a5413fc18b0d", "7e683d8581c4f927", "cc6c284792a18644"]),
    ("litellm", 3): ("litellm", ["0b11a5413fc18b0d", "7e683d8581c4f927", "a9537ecb67738b4c"]),
    ("litellm", 4): ("litellm", ["fcfbbc320ec7b554", "7e683d8581c4f927", "a9537ecb67738b4c"]),
    ("scripted", 1): ("openai", ["e522d4de94572767", "20bcf3c54119baa8", "40ca96127c8d5ffc"]),
    ("scripted", 2): ("openai", ["75278be8efcb9572", "0820c2ed9ac25035", "ef63563f376f0679"]),
    ("scripted", 3): ("openai", ["75278be8efcb9572", "0820c2ed9ac25035", "c9e313a693a7e7f7"]),
    ("openai_images", 1): ("openai", ["a7af4b5500d3de4e", "a7af4b5500d3de4e", "a7af4b5500d3de4e"]),
    ("openai_embeddings", 1): ("openai", ["b6b37f0be4c518b1", "b6b37f0be4c518b1", "b6b37f0be4c518b1"]),
    ("openai_speech", 1): ("openai", ["c6935973b6e8c870", "c6935973b6e8c870", "c6935973b6e8c870"]),
}


@pytest.mark.parametrize(("name", "version", "protocol", "expected"), [(*key, *value) for key, value in BYTES.items()])
def test_the_bytes_of_a_version_never_change(name: str, version: int, protocol: str, expected: list[str]) -> None:
    adapter = adapter_of(name, version)
    bodies = [
        adapter.body(_prompt(protocol), RouteParameters.from_json(parameters))
        for parameters in (PARAMETERS, QUIRKY, STRICT)
    ]
    assert [hashlib.sha256(body).hexdigest()[:16] for body in bodies] == expected


def test_every_version_is_tested() -> None:
    from llm_app.protocols import by_version

    assert set(by_version()) == set(BYTES)

"""The fakes of local servers accept a complete conversation and reject the same requests as the real ones, in their
words.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.contracts import llama_cpp, ollama, vllm
from tests.contracts.contract import Contract, Refusal, Rule
from tests.contracts.llama_cpp import LLAMA_CPP
from tests.contracts.ollama import OLLAMA
from tests.contracts.vllm import VLLM

HEADERS: Mapping[str, str] = {}


def conversation() -> dict[str, Any]:
    function = {"name": "shell", "arguments": '{"command": "ls"}'}
    parameters = {"type": "object", "properties": {"command": {"type": "string"}}}
    return {
        "model": "qwen3:8b",
        "max_tokens": 1000,
        "tools": [{"type": "function", "function": {"name": "shell", "parameters": parameters}}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Go."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "1", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "1", "content": "a.txt"},
        ],
    }


def refusal(rules: tuple[Rule, ...], body: Any) -> str:
    given: list[Refusal] = [refused for rule in rules if (refused := rule(body, HEADERS))]
    return given[0].message if given else ""


def shell(body: Any) -> Any:
    """Return the arguments of the tool."""
    return body["tools"][0]["function"]["parameters"]["properties"]


def called(body: Any) -> Any:
    return body["messages"][2]["tool_calls"][0]["function"]


def reply(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


LONG = [{"role": "user", "content": "x" * 300_000}]
PICTURE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}
DATE = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
REFUSED: list[tuple[Contract, str, Callable[[Any], Any]]] = [
    (LLAMA_CPP, "must contain 'content'", lambda body: body["messages"][1].pop("content")),
    (LLAMA_CPP, "Failed to parse tool call arguments", lambda body: called(body).update(arguments='{"a": ')),
    (LLAMA_CPP, "Unexpected tool message", lambda body: body["messages"].pop(2)),
    (LLAMA_CPP, "must be at the beginning", lambda body: body["messages"].append(body["messages"][0])),
    (LLAMA_CPP, "failed to parse grammar", lambda body: shell(body)["command"].update(maxLength=2000)),
    (LLAMA_CPP, "Pattern must start with '^'", lambda body: shell(body)["command"].update(pattern="a")),
    (LLAMA_CPP, "Unsupported ref", lambda body: body.update(response_format=reply({"$ref": "#/$defs/x"}))),
    (LLAMA_CPP, "exceeds the available context size", lambda body: body.update(messages=LONG)),
    (VLLM, "must not be an empty array", lambda body: body.update(tools=[])),
    (VLLM, "`tools` must be set", lambda body: body.update(tool_choice="auto", tools=None)),
    (VLLM, "Expecting value", lambda body: called(body).update(arguments='{"a": ')),
    (VLLM, "must be a JSON object", lambda body: called(body).update(arguments="[1]")),
    (VLLM, "must be followed by tool messages", lambda body: body["messages"].pop()),
    (VLLM, "not supported by xgrammar", lambda body: body.update(response_format=reply(DATE))),
    (VLLM, "maximum context length is", lambda body: body.update(messages=LONG)),
    (OLLAMA, "invalid message content type", lambda body: body["messages"][3].update(content=None)),
    (OLLAMA, "invalid image input", lambda body: body["messages"].append(PICTURE)),
    (OLLAMA, "invalid tool call arguments", lambda body: called(body).update(arguments="")),
    (OLLAMA, "cannot unmarshal bool", lambda body: shell(body).update(all=True)),
    (OLLAMA, "invalid JSON schema in format", lambda body: body.update(format={"type": "text"})),
]


@pytest.mark.parametrize("contract", [LLAMA_CPP, VLLM, OLLAMA], ids=lambda contract: contract.name)
def test_a_complete_conversation_is_accepted(contract: Contract) -> None:
    assert refusal(contract.rules, conversation()) == ""


@pytest.mark.parametrize(("contract", "words", "change"), REFUSED, ids=[f"{c.name}: {w}" for c, w, _ in REFUSED])
def test_a_broken_rule_is_rejected(contract: Contract, words: str, change: Callable[[Any], Any]) -> None:
    body = conversation()
    change(body)
    assert words in refusal(contract.rules, body)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (llama_cpp.without_jinja, "requires --jinja flag"),
        (vllm.without_parser, "--enable-auto-tool-choice"),
        (ollama.without_tools, "does not support tools"),
    ],
)
def test_a_server_started_without_tools_rejects_them(rule: Rule, words: str) -> None:
    body = conversation()
    assert words in refusal((rule,), body)
    del body["tools"]
    assert refusal((rule,), body) == ""


def test_llama_cpp_without_a_projector_rejects_pictures() -> None:
    body = conversation()
    assert refusal((llama_cpp.without_mmproj,), body) == ""
    body["messages"].append(PICTURE)
    assert "mmproj" in refusal((llama_cpp.without_mmproj,), body)


def test_some_templates_require_alternating_roles() -> None:
    body = conversation()
    assert refusal((llama_cpp.alternating_roles,), body) == ""
    body["messages"].insert(1, {"role": "user", "content": "First."})
    assert "must alternate" in refusal((llama_cpp.alternating_roles,), body)

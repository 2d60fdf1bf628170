"""The fake of Anthropic accepts a complete conversation and rejects the same requests as the real API, in its words."""

import base64
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.contracts.anthropic import OPUS_5_5, SONNET_4_5
from tests.contracts.anthropic_stream import prefix_of, signature
from tests.contracts.openai_stream import json_reply
from tests.pictures import picture
from tests.provider import Received

HEADERS = {"x-api-key": "sk-ant", "anthropic-version": "2023-06-01"}
THOUGHT = {"type": "thinking", "thinking": "Hm."}


def conversation(model: str = "claude-sonnet-4-5") -> dict[str, Any]:
    """A call with signed thinking, and its result."""
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": 4000,
        "stream": True,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{"name": "shell", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Go."}]}],
    }
    signed = THOUGHT | {"signature": signature(model, "Hm.", prefix_of(body, 1))}
    call = {"type": "tool_use", "id": "toolu_1", "name": "shell", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt"}
    body["messages"] += [{"role": "assistant", "content": [signed, call]}, {"role": "user", "content": [result]}]
    return body


def refusal(body: Any, headers: dict[str, str] = HEADERS) -> str:
    contract = OPUS_5_5 if "opus-5" in body["model"] else SONNET_4_5
    received = Received("/v1/messages", headers, json_reply(200, body).chunks[0])
    given = contract.refusal(received)
    return given.message if given else ""


Change = Callable[[Any], Any]


def last(body: Any) -> Any:
    """Return the content of the newest message."""
    return body["messages"][-1]["content"]


def call(body: Any) -> Any:
    return body["messages"][1]["content"][1]


def image(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": encoded}}


TEXT = {"type": "text", "text": "So?"}
POINT = {"cache_control": {"type": "ephemeral"}}
REFUSED: list[tuple[str, Change]] = [
    ("max_tokens: Field required", lambda body: body.pop("max_tokens")),
    ("n: Extra inputs are not permitted", lambda body: body.update(n=1)),
    ("which is the maximum allowed number of output tokens", lambda body: body.update(max_tokens=70_000)),
    ("greater than or equal to 1024", lambda body: body["thinking"].update(budget_tokens=1000)),
    ("must be greater than `thinking.budget_tokens`", lambda body: body.update(max_tokens=2000)),
    ("adaptive thinking is not supported", lambda body: body.update(thinking={"type": "adaptive"})),
    ("`temperature` may only be set to 1", lambda body: body.update(temperature=0.5)),
    ("when tool_choice forces tool use", lambda body: body.update(tool_choice={"type": "any"})),
    ("Tool names must be unique", lambda body: body["tools"].append(body["tools"][0])),
    ("tools.0.custom.name", lambda body: body["tools"][0].update(name="a.b")),
    ("at the top level", lambda body: body["tools"][0]["input_schema"].update(anyOf=[])),
    ("'additionalProperties' must be", lambda body: body["tools"][0].update(strict=True)),
    ('Unexpected role "system"', lambda body: body["messages"].insert(0, {"role": "system", "content": [TEXT]})),
    ('must use the "user" role', lambda body: body["messages"].pop(0)),
    ("must have non-empty content", lambda body: body["messages"].append({"role": "user", "content": []})),
    ("text content blocks must be non-empty", lambda body: last(body).append(TEXT | {"text": ""})),
    ("must contain non-whitespace text", lambda body: last(body).append(TEXT | {"text": " \n"})),
    (
        "cannot end with trailing whitespace",
        lambda body: body["messages"].append({"role": "assistant", "content": [TEXT | {"text": "So "}]}),
    ),
    ("A maximum of 4 blocks with cache_control", lambda body: last(body).extend([TEXT | POINT] * 5)),
    ("tool_use.id: String should match", lambda body: call(body).update(id="functions.shell:0")),
    ("tool_use.input: Input should be", lambda body: call(body).update(input="ls")),
    ("ids must be unique", lambda body: body["messages"].extend(deepcopy(body["messages"][1:]))),
    ("without `tool_result` blocks immediately after", lambda body: body["messages"].pop()),
    (
        "without `tool_result` blocks immediately after: toolu_1",
        lambda body: body["messages"].insert(2, {"role": "assistant", "content": [TEXT]}) or last(body).clear()
        or last(body).append(TEXT),
    ),
    ("must come first", lambda body: last(body).insert(0, TEXT)),
    ("unexpected `tool_use_id`", lambda body: last(body)[0].update(tool_use_id="toolu_2") or call(body).update(id="x")),
    ("cannot be modified", lambda body: body["messages"][1]["content"][0].update(thinking="Hm")),
    ("the first block must be thinking", lambda body: body["messages"][1]["content"].insert(0, TEXT)),
    ("cannot contain `thinking`", lambda body: body.pop("thinking")),
    ("Expected `thinking` or `redacted_thinking`", lambda body: body["messages"][1]["content"].pop(0)),
    ("Invalid `signature`", lambda body: body.update(model="claude-sonnet-4-0")),
    ("image exceeds 5 MB", lambda body: last(body).append(image(b"x" * 4_000_000))),
    ("does not match the provided media type", lambda body: last(body).append(image(picture(), "image/jpeg"))),
    ("media_type: Input should be", lambda body: last(body).append(image(picture(), "image/bmp"))),
    ("exceed max allowed size : 8000", lambda body: last(body).append(image(picture(8001, 1)))),
    ("for many-image requests: 2000", lambda body: last(body).extend([image(picture(2001, 1))] * 21)),
]  # fmt: skip


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-5-5"])
def test_a_complete_conversation_is_accepted(model: str) -> None:
    body = conversation(model)
    if "opus" in model:
        body["thinking"] = {"type": "adaptive"}
    assert refusal(body) == ""


@pytest.mark.parametrize(("words", "change"), REFUSED, ids=[words for words, _ in REFUSED])
def test_a_broken_rule_is_rejected(words: str, change: Change) -> None:
    body = conversation()
    change(body)
    assert words in refusal(body)


NEWER: list[tuple[str, Change]] = [
    ('"thinking.type.enabled" is not supported', lambda body: body["thinking"].update(type="enabled")),
    ('"thinking.type.disabled" is not supported', lambda body: body["thinking"].update(type="disabled")),
    ("`temperature` is deprecated", lambda body: body.update(temperature=0.5)),
    ("are not supported for this model", lambda body: body.update(tool_choice={"type": "any"})),
    ("does not support assistant message prefill", lambda body: body["messages"].pop()),
    ("bound to a different conversation", lambda body: body["system"][0].update(text="Be long.")),
    ("bound to a different conversation", lambda body: body["messages"][0].update(content=[TEXT])),
    ("block_binding: Extra inputs", lambda body: body["thinking"].update(block_binding={})),
]


@pytest.mark.parametrize(("words", "change"), NEWER, ids=[words for words, _ in NEWER])
def test_newer_models_also_reject(words: str, change: Change) -> None:
    body = conversation("claude-opus-5-5") | {"thinking": {"type": "adaptive"}}
    change(body)
    assert words in refusal(body)


def test_requests_without_a_key_are_rejected() -> None:
    assert refusal(conversation(), {}) == "x-api-key header is required"

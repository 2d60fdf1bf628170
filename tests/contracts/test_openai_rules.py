"""The fakes reject the same requests as the real APIs: each rule, broken once, in the words of the provider."""

import json
from typing import Any

import pytest

from tests.contracts.contract import Contract
from tests.contracts.gemini import GEMINI
from tests.contracts.openai_chat import GPT_4, GPT_5, GPT_NEWEST, O_SERIES
from tests.contracts.openai_responses import RESPONSES, encrypted
from tests.contracts.thinkers import DEEPSEEK, KIMI
from tests.provider import Received

KEY = {"Authorization": "Bearer sk-a-key"}
USER = {"role": "user", "content": "Go."}
CALLED = {"id": "call_1", "type": "function", "function": {"name": "plan", "arguments": "{}"}}
CALL = {"role": "assistant", "content": None, "tool_calls": [CALLED]}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "ok"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def tool(parameters: Any = None, **fields: Any) -> dict[str, Any]:
    schema = parameters or {"type": "object", "properties": {"a": {"type": "string"}}}
    return {"type": "function", "function": {"name": "plan", "description": "", "parameters": schema} | fields}


def refusal_of(contract: Contract, headers: dict[str, str] | None = None, **fields: Any) -> str:
    """Return the message of the rejection; empty if the request is accepted."""
    body = {"model": contract.model, "messages": [USER], "stream": True} | fields
    received = Received(contract.endpoint, KEY if headers is None else headers, json.dumps(body).encode())
    refusal = contract.refusal(received)
    return refusal.message if refusal else ""


def strict(**parameters: Any) -> list[dict[str, Any]]:
    return [tool({"type": "object", **parameters}, strict=True)]


@pytest.mark.parametrize("contract", [GPT_5, GPT_4, O_SERIES, GEMINI, DEEPSEEK, KIMI], ids=lambda c: c.name)
def test_a_plain_request_is_accepted(contract: Contract) -> None:
    thinking = {"reasoning_content": ""} if contract in (DEEPSEEK, KIMI) else {}
    signed = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}
    call = CALL | thinking | ({"tool_calls": [CALLED | signed]} if contract is GEMINI else {})
    assert refusal_of(contract, messages=[USER, call, RESULT], tools=[tool()]) == ""


@pytest.mark.parametrize(
    ("contract", "fields", "words"),
    [
        (GPT_5, {"headers": {}}, "API key"),
        (GPT_5, {"reasoning": {}}, "Unknown parameter: 'reasoning'"),
        (GPT_5, {"max_tokens": 9}, "Use 'max_completion_tokens' instead"),
        (GPT_5, {"temperature": 0.5}, "Only the default (1)"),
        (O_SERIES, {"top_p": 0.5}, "'top_p' is not supported"),
        (GPT_4, {"reasoning_effort": "low"}, "reasoning_effort"),
        (O_SERIES, {"reasoning_effort": "minimal"}, "does not support 'minimal'"),
        (GPT_5, {"reasoning_effort": "low", "tools": [tool()]}, "Please use /v1/responses"),
        (GPT_NEWEST, {"tools": [tool()]}, "Please use /v1/responses"),
        (O_SERIES, {"tools": [tool()], "parallel_tool_calls": False}, "'parallel_tool_calls' is not supported"),
        (GPT_5, {"parallel_tool_calls": False}, "only allowed when 'tools'"),
        (GPT_5, {"tools": []}, "empty array"),
        (GPT_5, {"tools": [tool()] * 129}, "array too long"),
        (GPT_5, {"tools": [tool(name="a.b")]}, "does not match pattern"),
        (GPT_5, {"tools": [tool(name="a" * 65)]}, "maximum length 64"),
        (GPT_5, {"tools": [tool(description="a" * 1025)]}, "maximum length 1024"),
        (GPT_5, {"tools": [tool({"type": "object"})]}, "object schema missing properties"),
        (GPT_5, {"tools": [tool({"type": "object", "properties": {"a": {"type": "array"}}})]}, "missing items"),
        (GPT_5, {"tools": [tool({"type": "object", "properties": {}, "anyOf": []})]}, "at the top level"),
        (GPT_5, {"tools": strict(properties={"a": {"type": "string"}})}, "'additionalProperties' is required"),
        (GPT_5, {"tools": strict(properties={"a": {"type": "string"}}, additionalProperties=False)}, "Missing 'a'"),
        (GPT_5, {"tools": strict(properties={"a": {}}, required=["a"], additionalProperties=False)}, "'type' key"),
        (GPT_5, {"stream": False, "stream_options": {}}, "'stream_options'"),
        (GPT_5, {"messages": [USER, CALL]}, "did not have response messages: call_1"),
        (GPT_5, {"messages": [USER, CALL, USER, RESULT]}, "did not have response messages: call_1"),
        (GPT_5, {"messages": [USER, RESULT]}, "must be a response to a preceeding message"),
        (GPT_5, {"messages": [USER, {"role": "assistant", "content": None}]}, "got null"),
        (GPT_5, {"messages": [USER | {"reasoning_content": "Hm."}]}, "Unknown parameter: 'messages[0]"),
        (GPT_5, {"messages": [USER, CALL, RESULT | {"content": [PICTURE]}]}, "only allowed for messages with role 'user'"),
        (GPT_5, {"messages": [USER, CALL | {"tool_calls": [CALLED | {"id": "c" * 41}]}]}, "maximum length 40"),
        (GEMINI, {"headers": {}}, "API key not valid"),
        (GEMINI, {"parallel_tool_calls": False}, 'Unknown name "parallel_tool_calls"'),
        (GEMINI, {"tools": [tool({"type": "object", "additionalProperties": False})]}, 'Unknown name "additionalProperties"'),
        (GEMINI, {"messages": [{"role": "user", "content": " "}]}, "at least one parts field"),
        (GEMINI, {"messages": [CALL, RESULT]}, "function call turn comes immediately after"),
        (GEMINI, {"messages": [USER, CALL, USER]}, "function response turn comes immediately after"),
        (GEMINI, {"messages": [USER, CALL, RESULT]}, "missing a thought_signature"),
        (DEEPSEEK, {"messages": [USER, CALL, RESULT]}, "must be passed back"),
        (DEEPSEEK, {"messages": [{"role": "user", "content": [PICTURE]}]}, "unknown variant `image_url`"),
        (DEEPSEEK, {"response_format": {"type": "json_schema"}}, "response_format type is unavailable"),
        (DEEPSEEK, {"tool_choice": "required"}, "tool_choice"),
        (KIMI, {"messages": [USER, CALL, RESULT]}, "reasoning_content is missing"),
        (KIMI, {"messages": [USER, {"role": "assistant", "content": ""}, USER]}, "must not be empty"),
        (KIMI, {"temperature": 0.6}, "invalid temperature"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_rejected(contract: Contract, fields: dict[str, Any], words: str) -> None:
    assert words in refusal_of(contract, **fields)


ITEM_CALL = {"type": "function_call", "call_id": "call_1", "name": "plan", "arguments": "{}"}
ITEM_RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": encrypted("rs_1", [])}
FLAT = {"type": "function", "name": "plan", "parameters": tool()["function"]["parameters"]}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"input": [USER, REASONING, ITEM_CALL, ITEM_RESULT], "tools": [FLAT | {"strict": False}]}, ""),
        ({"messages": []}, "Unknown parameter: 'messages'"),
        ({"max_output_tokens": 15}, "below minimum value"),
        ({"temperature": 1}, "'temperature' is not supported"),
        ({"reasoning": {"effort": "minimal"}}, "does not support 'minimal'"),
        ({"model": "gpt-4.1", "include": ["reasoning.encrypted_content"]}, "Encrypted content is not supported"),
        ({"tools": [FLAT]}, "'additionalProperties' is required"),
        ({"tools": [tool()]}, "Missing required parameter: 'tools[0].name'"),
        ({"input": [USER, REASONING | {"status": "completed"}, ITEM_CALL, ITEM_RESULT]}, "input[1].status"),
        ({"input": [USER, ITEM_CALL]}, "No tool output found for function call call_1"),
        ({"input": [USER, ITEM_RESULT]}, "No tool call found for function call output with call_id call_1"),
        ({"input": [USER, REASONING]}, "without its required following item"),
        ({"input": [USER, REASONING | {"encrypted_content": None}, ITEM_CALL, ITEM_RESULT]}, "not persisted"),
        ({"input": [USER, REASONING | {"id": "rs_2"}, ITEM_CALL, ITEM_RESULT]}, "could not be verified"),
    ],
)
def test_responses_reject(fields: dict[str, Any], words: str) -> None:
    body = {"model": RESPONSES.model, "input": [USER], "stream": True, "store": False} | fields
    refusal = RESPONSES.refusal(Received(RESPONSES.endpoint, KEY, json.dumps(body).encode()))
    assert words in (refusal.message if refusal else "")
    assert bool(refusal) is bool(words)

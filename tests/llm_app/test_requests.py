"""Requests: each protocol's form of a history, and bytes that extend those of the previous request."""

import hashlib
import json
from dataclasses import replace
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from llm_app.adapters.base import Adapter, RouteParameters
from llm_app.cache_boundary import MARKER
from llm_app.call.route_settings import IncrementalHash
from llm_app.protocols import adapter_for
from llm_app.types import Message, Prompt, Thinking, ToolCall
from tests.contracts.openai_tools import bad_reply_schema
from tests.llm_app.protocol_case import TOOLS

OWN = ("openai_native", "openai_responses", "openai_xml", "anthropic_native", "anthropic_xml", "json_schema")
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "s"}
HIDDEN = {"type": "redacted_thinking", "data": "XYZ"}


def parameters(**fields: Any) -> RouteParameters:
    return RouteParameters(**{"model": "m", "max_tokens": 4000} | fields)


def body(adapter: str | Adapter, *messages: Message, **fields: Any) -> Any:
    return json.loads(raw(adapter, messages, **fields))


def raw(adapter: str | Adapter, messages: Any, **fields: Any) -> bytes:
    adapter = adapter_for(adapter) if isinstance(adapter, str) else adapter
    prompt = Prompt(system=f"stable{MARKER}dynamic", tools=TOOLS, messages=messages)
    return adapter.body(prompt, parameters(**fields))


def user(text: str) -> Message:
    return Message(role="user", content=text)


def call(
    number: int = 1, content: str = "", thinking: Thinking | None = None, arguments: str = '{"a": "x"}'
) -> Message:
    made = ToolCall(id=f"call_{number}", name="shell", arguments=arguments)
    return Message(role="assistant", content=content, tool_call=made, thinking=thinking)


def result(number: int = 1, text: str = "ok") -> Message:
    return Message(role="tool", content=text, tool_call_id=f"call_{number}")


def thought(protocol: str, model: str = "m", *blocks: dict[str, str]) -> Thinking:
    return Thinking(text="hm", protocol=protocol, model=model, blocks=blocks)


# --- cached parts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adapter", [*OWN, "litellm"])
def test_sharing_a_prefix_does_not_change_requests(adapter: str) -> None:
    shared = Prompt(system=f"stable{MARKER}dynamic", tools=TOOLS, messages=())
    histories = [[user("go")], [user("go"), call(), result()], [user("go"), call(), result(), user("on")]]
    for fields in ({"model": "claude"}, {"model": "claude", "thinking_budget": 2000}, {"model": "n", "max_tokens": 9}):
        for messages in histories:  # the second allows no thinking at Anthropic: its call was made without thinking
            once = adapter_for(adapter).body(replace(shared, messages=messages), parameters(**fields))
            assert once == raw(adapter, messages, **fields)


@hypothesis.given(strategies.lists(strategies.tuples(strategies.integers(0, 400), strategies.binary(max_size=200))))
def test_the_incremental_hash_equals_the_hash_of_the_bytes(changes: list[tuple[int, bytes]]) -> None:
    growing, body = IncrementalHash(), b""
    for kept, more in changes:
        body = body[:kept] + more
        assert growing.of(body) == hashlib.sha256(body).hexdigest()


# --- a history ----------------------------------------------------------------------------------------------------


def test_openai_has_fields_for_calls_and_results():
    sent = body("openai_native", user("go"), call(content="I look."), result(), result(1, ""))
    assert sent["messages"] == [
        {"role": "system", "content": "stabledynamic"},
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "shell", "arguments": '{"a": "x"}'}}
            ],
        },
        {"role": "tool", "content": "ok", "tool_call_id": "call_1"},
        {"role": "tool", "content": "", "tool_call_id": "call_1"},
    ]
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["message", "shell", "file", "plan"]


def test_anthropic_has_blocks_and_two_cache_points():
    sent = body("anthropic_native", user("go"), call(content="I look."), result())
    point = {"cache_control": {"type": "ephemeral"}}
    assert sent["system"] == [{"type": "text", "text": "stable"} | point, {"type": "text", "text": "dynamic"}]
    assert sent["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "call_1", "name": "shell", "input": {"a": "x"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "ok"} | point]},
    ]


def test_xml_has_calls_and_results_as_text_and_no_tools():
    sent = body("anthropic_xml", user("go"), call(content="I look."), result())
    written = '<function_calls>\n<invoke name="shell">\n<parameter name="a">x</parameter>\n</invoke>\n</function_calls>'
    texts = [(message["role"], message["content"][0]["text"]) for message in sent["messages"]]
    assert texts == [
        ("user", "go"),
        ("assistant", f"I look.\n{written}"),
        ("user", "<tool_result>\nok\n</tool_result>"),
    ]
    assert "tools" not in sent


def test_xml_over_chat_completions_has_the_same_texts():
    history = (user("go"), call(content="I look."), result())
    sent, other = body("openai_xml", *history), body("anthropic_xml", *history)
    texts = [(message["role"], message["content"][0]["text"]) for message in other["messages"]]
    assert [(message["role"], message["content"]) for message in sent["messages"][1:]] == texts
    assert "tools" not in sent


def test_json_has_calls_and_results_as_text_and_a_schema():
    sent = body("json_schema", user("go"), call(), result())
    assert sent["messages"][2:] == [
        {"role": "assistant", "content": '{"tool": "shell", "arguments": {"a": "x"}}'},
        {"role": "user", "content": "<tool_result>\nok\n</tool_result>"},
    ]
    assert sent["response_format"]["json_schema"]["strict"] is True
    assert "tools" not in sent


@pytest.mark.parametrize("protocol", OWN)
def test_arguments_that_are_no_object_break_no_later_request(protocol):
    broken = ['{"a": "x', "[1]", "", "NaN", "\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "replace")]
    for arguments in [*broken, '{"a": "\\ud83d"}', '{"a":' + "[" * 400 + "]" * 400 + "}"]:
        assert body(protocol, user("go"), call(arguments=arguments), result())


@pytest.mark.parametrize("protocol", OWN)
def test_an_empty_reply_is_not_sent(protocol):
    empty = Message(role="assistant", content=" \n")
    assert body(protocol, user("a"), empty, user("b")) == body(protocol, user("a"), user("b"))


@pytest.mark.parametrize("protocol", OWN)
def test_requests_without_tools_do_not_mention_tools(protocol):
    sent = json.loads(adapter_for(protocol).body(Prompt(system="s", tools=(), messages=[user("a")]), parameters()))
    assert not sent.keys() & {"tools", "response_format", "tool_choice"}


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA==", "new_field": [1.5]}


def test_responses_have_items_and_store_nothing():
    own = thought("openai_responses", "m", REASONING)
    quirks = {"encrypted_reasoning": True, "parallel_tool_calls": False, "tool_choice": "required"}
    sent = body("openai_responses", user("go"), call(1, "I look.", own), result(), user("on"), quirks=quirks)
    assert sent["input"] == [
        {"role": "user", "content": "go"},
        REASONING,
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "call_1", "name": "shell", "arguments": '{"a": "x"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
        {"role": "user", "content": "on"},
    ]
    assert (sent["instructions"], sent["store"], sent["stream"]) == ("stabledynamic", False, True)
    assert (sent["max_output_tokens"], sent["include"]) == (4000, ["reasoning.encrypted_content"])
    assert (sent["tool_choice"], sent["parallel_tool_calls"]) == ("required", False)
    named = {"type": "function", "name": "message", "description": "The tool message."}
    assert sent["tools"][0] == named | {"parameters": {"type": "object"}, "strict": False}


@pytest.mark.parametrize("other", [thought("openai_responses", "n", REASONING), thought("openai", "m", REASONING)])
def test_responses_do_not_get_reasoning_of_other_models(other):
    sent = body("openai_responses", user("go"), call(1, "I look.", other), result())
    assert REASONING not in sent["input"]
    assert "include" not in sent


def test_extra_body_of_responses_can_set_the_effort_but_not_store_or_truncate():
    quirks = {"thinking_effort_field": "reasoning.effort", "unsupported": ["temperature"], "phases": True}
    extra = {"store": True, "truncation": "auto", "previous_response_id": "r", "reasoning": {"summary": "auto"}}
    given = {"thinking_budget": 4000, "temperature": 0.5, "max_tokens": 1, "extra_body": extra, "quirks": quirks}
    sent = body("openai_responses", user("go"), call(1, "I look."), result(), **given)
    assert sent["reasoning"] == {"summary": "auto", "effort": "medium"}
    assert (sent["store"], sent["max_output_tokens"]) == (False, 16)
    assert not sent.keys() & {"truncation", "previous_response_id", "temperature"}
    assert sent["input"][1] == {"role": "assistant", "content": "I look.", "phase": "commentary"}


# --- bytes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "quirks", [{}, {"merge_user_messages": True, "thinking_field": "reasoning", "call_id_length": 9}]
)
@pytest.mark.parametrize("protocol", OWN)
def test_each_request_extends_the_previous_one(protocol, quirks):
    conversation = [user("go")]
    for number in range(6):
        conversation += [call(number, "text", thought("anthropic", "m", SIGNED)), result(number, "<b>é😀")]
        conversation += [user("<system_reminder>\nx\n</system_reminder>")] if number % 2 else []
    requests = [raw(protocol, conversation[:end], quirks=quirks) for end in range(1, len(conversation) + 1)]
    for request, following in zip(requests, requests[1:], strict=False):
        last = request.rindex(b'{"role":')
        assert following.startswith(request[:last])
    again = raw(protocol, [Message(**_fields(message)) for message in conversation], quirks=quirks)
    assert again == requests[-1], "bytes made anew differ from those that were kept"


def _fields(message: Message) -> dict[str, Any]:
    names = ("role", "content", "thinking", "tool_call", "tool_call_id")
    return {name: getattr(message, name) for name in names}


def test_a_route_with_other_quirks_gets_other_bytes_of_the_same_message():
    message = call(1, thinking=thought("openai"))
    plain = body("openai_native", message)
    with_thinking = body("openai_native", message, quirks={"thinking_field": "reasoning_content"})
    assert "reasoning_content" not in plain["messages"][1]
    assert with_thinking["messages"][1]["reasoning_content"] == "hm"


# --- thinking -----------------------------------------------------------------------------------------------------


def test_signed_thinking_goes_back_unchanged_before_its_call():
    message = call(1, "I look.", thought("anthropic", "m", SIGNED, HIDDEN))
    sent = body("anthropic_native", user("go"), message, result(), thinking_budget=2000)
    kinds = [block["type"] for block in sent["messages"][1]["content"]]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert sent["messages"][1]["content"][:2] == [SIGNED, HIDDEN]
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 2000}


@pytest.mark.parametrize("other", [thought("anthropic", "other", SIGNED), thought("openai", "m", SIGNED), None])
def test_thinking_of_other_models_does_not_go_back(other):
    sent = body("anthropic_native", user("go"), call(thinking=other), result())
    assert [block["type"] for block in sent["messages"][1]["content"]] == ["tool_use"]


OWN_THOUGHT = thought("anthropic", "m", SIGNED)


@pytest.mark.parametrize(
    ("messages", "thinks"),
    [
        ([user("go")], True),
        ([user("go"), call(1, thinking=OWN_THOUGHT), result(1)], True),
        ([user("go"), call(1), result(1)], False),
        ([user("go"), call(1, thinking=OWN_THOUGHT), result(1), call(2), result(2)], True),
        ([user("go"), call(1), result(1), call(2, thinking=OWN_THOUGHT), result(2)], False),
        ([user("go"), call(1), result(1), user("more")], False),
        ([user("go"), call(1), result(1), user("a"), user("b")], True),
        ([user("go"), call(1, thinking=OWN_THOUGHT), result(1), user("reminder"), call(2), result(2)], False),
        ([user("go"), call(1), result(1), Message(role="assistant", content="Done."), user("more")], True),
    ],
)
def test_thinking_is_only_requested_if_the_turn_began_with_it(messages, thinks):
    """The API rejects thinking if the turn began with a call without signed thinking."""
    assert ("thinking" in body("anthropic_native", *messages, thinking_budget=2000)) is thinks


def test_thinking_sets_the_required_parameters():
    sent = body("anthropic_native", user("go"), thinking_budget=10, temperature=0.2, max_tokens=2048)
    assert sent["thinking"]["budget_tokens"] == 1024
    assert sent["max_tokens"] == 2048
    assert "temperature" not in sent


def test_thinking_goes_back_in_the_field_of_the_route():
    own, parts = thought("openai"), thought("openai", "m", {"type": "reasoning.text", "text": "hm"})
    quirks = {"thinking_field": "reasoning_content"}
    sent = body("openai_native", user("go"), call(1, thinking=own), call(2), quirks=quirks)
    assert [message.get("reasoning_content") for message in sent["messages"]] == [None, None, "hm", ""]
    quirks = {"thinking_field": "reasoning_details"}
    sent = body("openai_native", user("go"), call(1, thinking=parts), call(2), quirks=quirks)
    assert sent["messages"][2]["reasoning_details"] == [{"type": "reasoning.text", "text": "hm"}]
    assert "reasoning_details" not in sent["messages"][3]


# --- additions of a route -----------------------------------------------------------------------------------------


def test_a_signature_goes_back_only_with_its_unchanged_call():
    signed = {"extra_content": {"google": {"thought_signature": "s"}}}
    placeholder = {"google": {"thought_signature": "skip_thought_signature_validator"}}

    def sent(thinking: Thinking, arguments: str = "{}", **quirks: Any) -> Any:
        message = call(thinking=thinking, arguments=arguments)
        return body("openai_native", user("go"), message, quirks=quirks)["messages"][2]["tool_calls"][0]

    assert sent(thought("openai", "m", signed))["extra_content"] == signed["extra_content"]
    assert "extra_content" not in sent(thought("openai", "another", signed))
    assert "extra_content" not in sent(thought("openai"))
    for thinking, arguments in ((thought("anthropic", "m", SIGNED), "{}"), (thought("openai", "m", signed), "{half")):
        assert sent(thinking, arguments, thought_signatures=True)["extra_content"] == placeholder


def test_long_call_ids_are_shortened_in_call_and_result():
    made = ToolCall(id="c" * 41, name="shell", arguments="{}")
    history = (user("go"), Message(role="assistant", tool_call=made), Message(role="tool", tool_call_id="c" * 41))
    asked = [body("openai_native", *history, quirks={"call_id_most": most})["messages"] for most in (40, 41)]
    ids = [{messages[2]["tool_calls"][0]["id"], messages[3]["tool_call_id"]} for messages in asked]
    assert [len(found) for found in ids] == [1, 1]
    assert [len(found.pop()) for found in ids] == [40, 41]


def test_the_schema_of_a_reply_can_have_an_object_at_its_root():
    sent = body("json_schema", user("go"), quirks={"schema_root": "object"})["response_format"]["json_schema"]
    assert bad_reply_schema(sent, "response_format") is None
    assert sent["schema"]["properties"]["tool"] == {"type": "string", "enum": [tool.name for tool in TOOLS]}
    assert bad_reply_schema(body("json_schema", user("go"))["response_format"]["json_schema"], "x") is not None


def test_quirks_of_a_route():
    quirks = {
        "max_tokens_field": "max_completion_tokens",
        "stream_usage": False,
        "thinking_budget_field": "reasoning.max_tokens",
        "call_id_length": 9,
        "merge_user_messages": True,
    }
    sent = body("openai_native", user("a"), user("b"), call(), result(), user("c"), thinking_budget=64, quirks=quirks)
    assert sent["max_completion_tokens"] == 4000
    assert not sent.keys() & {"max_tokens", "stream_options"}
    assert sent["reasoning"] == {"max_tokens": 64}
    assert [message["content"] for message in sent["messages"]] == ["stabledynamic", "a\n\nb", None, "ok", "c"]
    call_id = sent["messages"][2]["tool_calls"][0]["id"]
    assert call_id == sent["messages"][3]["tool_call_id"]
    assert len(call_id) == 9
    assert call_id.isalnum()


def test_cache_points_can_be_omitted():
    assert "cache_control" not in str(body("anthropic_native", user("a"), quirks={"cache_points": False}))


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ("format", ["format"]),
        ("guided_json", ["guided_json"]),
        ("structured_outputs.json", ["structured_outputs", "json"]),
    ],
)
def test_the_schema_is_in_the_field_of_the_route(field, place):
    sent = body("json_schema", user("a"), quirks={"schema_field": field})
    assert "response_format" not in sent
    for name in place:
        sent = sent[name]
    assert "anyOf" in sent


SERVER_TOOLS = {
    "tools": [{"type": "web_search_20250305", "name": "web_search"}],
    "web_search_options": {},
    "mcp_servers": [{"type": "url", "url": "http://127.0.0.1"}],
    "container": {"skills": []},
    "plugins": [{"id": "web"}],
    "search_parameters": {"mode": "on"},
    "enable_search": True,
    "context_management": {"edits": []},
    "transforms": ["middle-out"],
    "functions": [],
}


@pytest.mark.parametrize("protocol", [*OWN, "litellm"])
def test_tools_of_the_provider_cannot_be_enabled(protocol):
    """They are also removed one level deeper, because some gateways look there."""
    extra = SERVER_TOOLS | {
        "top_p": 0.5,
        "provider": {"order": ["x"]},
        "extra_body": SERVER_TOOLS | {"google": {"tools": []}},
    }
    sent = body(protocol, user("a"), extra_body=extra)
    plain = body(protocol, user("a"))
    assert sent["top_p"] == 0.5
    assert sent["provider"] == {"order": ["x"]}
    assert sent.keys() - plain.keys() <= {"top_p", "provider", "extra_body"}
    assert sent.get("tools") == plain.get("tools")
    assert sent.get("extra_body", {"google": {}}) == {"google": {}}


@pytest.mark.parametrize("protocol", OWN)
def test_extra_body_cannot_change_logged_fields(protocol):
    extra = {"model": "other", "messages": [], "system": "other", "stream": False, "n": 3}
    assert body(protocol, user("a"), extra_body=extra) == body(protocol, user("a"))


def test_extra_body_cannot_loosen_the_constraint():
    sent = body("json_schema", user("a"), extra_body={"response_format": {"type": "text"}})
    assert sent["response_format"]["type"] == "json_schema"

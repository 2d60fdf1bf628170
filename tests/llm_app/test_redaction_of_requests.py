"""Unredacted texts of the record are redacted in requests, once, and can be rebuilt from the log."""

from dataclasses import replace

import pytest

from llm_app.adapters.anthropic_native import AnthropicNative
from llm_app.adapters.base import RouteParameters
from llm_app.adapters.openai_native import OpenAINative
from llm_app.redaction import Redactor
from llm_app.redaction.prompt import redacted_prompt, with_spans
from llm_app.redaction.turn import redacted_turn
from llm_app.types import GrowingMessages, LLMTurnResult, Message, Picture, Prompt, Thinking, ToolCall

SECRET = "one-value-1"
REDACTOR = Redactor([("A", SECRET)])
ROUTE = RouteParameters(model="m", max_tokens=100)
SIGNED = ({"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},)


def prompt(*messages: Message) -> Prompt:
    return Prompt(system="Be brief.", tools=(), messages=messages)


def test_every_text_of_a_message_is_redacted_and_its_span_logged():
    message = Message(
        role="assistant",
        seq=7,
        content=f"I know {SECRET}",
        tool_call=ToolCall(id="c1", name="shell", arguments=f'{{"command": "echo {SECRET}"}}'),
        thinking=Thinking(text=f"{SECRET}?", protocol="anthropic", model="m", blocks=SIGNED),
        pictures=(Picture(path=f"{SECRET}.png", media_type="image/png", width=1, height=1, data="AAAA"),),
    )
    redacted = redacted_prompt(prompt(message), REDACTOR)
    (sent,) = redacted.prompt.messages
    assert sent.content == "I know [secret:A]"
    assert sent.tool_call == ToolCall(id="c1", name="shell", arguments='{"command": "echo [secret:A]"}')
    assert sent.thinking == Thinking(text="[secret:A]?", protocol="anthropic", model="m")
    assert sent.pictures[0].path == "[secret:A].png"
    assert redacted.spans == [
        (7, "content", 7, 11, "[secret:A]"),
        (7, "arguments", 18, 11, "[secret:A]"),
        (7, "thinking", 0, 11, "[secret:A]"),
        (7, "picture 0", 0, 11, "[secret:A]"),
    ]
    assert with_spans(message, redacted.spans) == sent


def test_signed_thinking_with_a_secret_only_in_its_blocks_is_removed():
    blocks = ({"type": "thinking", "thinking": SECRET, "signature": "c2lnbmVk"},)
    message = Message(role="assistant", thinking=Thinking(text="hm", blocks=blocks))
    redacted = redacted_prompt(prompt(message), REDACTOR)
    assert redacted.prompt.messages[0].thinking == Thinking(text="hm")
    assert with_spans(message, redacted.spans) == redacted.prompt.messages[0]


def test_signed_thinking_without_a_secret_goes_back_unchanged():
    message = Message(role="assistant", thinking=Thinking(text="hm", blocks=SIGNED))
    redacted = redacted_prompt(prompt(message), REDACTOR)
    assert redacted.prompt.messages[0] is message
    assert redacted.spans == []


class Counting(Redactor):
    """A redactor that counts the scanned texts."""

    scanned = 0

    def spans(self, text):
        self.scanned += 1
        return super().spans(text)


def test_a_message_is_scanned_once_per_version_of_the_secrets():
    messages = [Message(role="user", content=f"number {n}", seq=n) for n in range(100)]
    redactor = Counting([("A", SECRET)])
    for _ in range(3):
        redacted_prompt(prompt(*messages), redactor)
    assert redactor.scanned == 100
    other = Counting([("B", "two-value-2")])
    redacted_prompt(prompt(*messages), other)
    assert other.scanned == 100


def test_entries_redacted_with_the_same_secrets_are_not_scanned():
    redactor = Counting([("A", SECRET)])
    redacted_prompt(prompt(Message(role="user", content="Hello.", masked_with=redactor.version)), redactor)
    assert redactor.scanned == 0


def test_a_clean_message_keeps_its_bytes_when_the_secrets_change():
    message = Message(role="user", content="Hello.")
    adapter = OpenAINative()
    adapter.encoded(redacted_prompt(prompt(message), REDACTOR).prompt, ROUTE)
    encoded = message.encoded.copy()
    again = redacted_prompt(prompt(message), Redactor([("B", "two-value-2")])).prompt
    assert again.messages[0].encoded == encoded


@pytest.mark.parametrize("adapter", [OpenAINative(), AnthropicNative()])
def test_only_new_messages_of_a_growing_conversation_are_scanned(adapter):
    growing = GrowingMessages([Message(role="user", content="Hello.", masked_with=REDACTOR.version)])
    for number in range(1, 5):
        growing.append(Message(role="assistant", content=f"number {number}", seq=number))
        redacted = redacted_prompt(replace(prompt(), messages=growing), REDACTOR).prompt
        assert adapter.body(redacted, ROUTE) == adapter.body(prompt(*map(_anew, growing)), ROUTE)
        for message in growing:
            message.encoded.clear()
    assert adapter.body(redacted, ROUTE)
    assert not any(message.encoded for message in growing)


def test_early_secrets_are_redacted_in_each_request_of_a_growing_conversation():
    growing = GrowingMessages([Message(role="user", content=SECRET, seq=1)])
    clear = OpenAINative().body(replace(prompt(), messages=growing), ROUTE)
    for number in range(2, 5):
        growing.append(Message(role="user", content=f"{SECRET} {number}", seq=number))
        redacted = redacted_prompt(replace(prompt(), messages=growing), REDACTOR)
        body = OpenAINative().body(redacted.prompt, ROUTE)
        assert (body.count(SECRET.encode()), body.count(b"[secret:A]"), len(redacted.spans)) == (0, number, number)
    assert OpenAINative().body(replace(prompt(), messages=growing), ROUTE).startswith(clear[:-2])


def _anew(message: Message) -> Message:
    return replace(message, encoded={})


def test_redacted_and_clear_bytes_are_never_mixed_up():
    message = Message(role="user", content=SECRET)
    adapter = OpenAINative()
    clear = adapter.encoded(prompt(message), ROUTE)
    redacted = adapter.encoded(redacted_prompt(prompt(message), REDACTOR).prompt, ROUTE)
    assert SECRET.encode() in clear[0]
    assert redacted == [clear[0].replace(SECRET.encode(), b"[secret:A]")]


def test_escaped_arguments_are_redacted_in_later_requests():
    arguments = '{"command": "echo \\u006fne-value-1"}'
    message = Message(role="assistant", tool_call=ToolCall(id="c1", name="shell", arguments=arguments), seq=3)
    redacted = redacted_prompt(prompt(message), REDACTOR)
    (sent,) = redacted.prompt.messages
    assert sent.tool_call.arguments == '{"command": "echo [secret:A]"}'
    assert with_spans(message, redacted.spans) == sent


# --- answers ----------------------------------------------------------------------------------------------------


def test_an_answer_is_redacted_before_use():
    turn = LLMTurnResult(
        content=SECRET,
        tool_calls=(ToolCall(id="c1", name="shell", arguments=f'{{"command": "{SECRET}"}}'),),
        thinking=Thinking(text=SECRET, blocks=SIGNED),
        finish_reason=SECRET,
    )
    redacted = redacted_turn(turn, REDACTOR)
    assert SECRET not in repr(redacted)
    assert redacted.thinking == Thinking(text="[secret:A]")


@pytest.mark.parametrize("written", ["\\u006fne-value-1", "one\\u002Dvalue\\u002d1"])
def test_arguments_with_escaped_characters_are_redacted(written):
    call = ToolCall(id="c1", name="shell", arguments=f'{{"command": "echo {written} \\u00e9"}}')
    (redacted,) = redacted_turn(LLMTurnResult(tool_calls=(call,)), REDACTOR).tool_calls
    assert redacted.arguments == '{"command": "echo [secret:A] é"}'


@pytest.mark.parametrize("written", ["tok\\/en/value-1", "tok/en\\/value-1"])
def test_arguments_with_some_escaped_slashes_are_redacted(written):
    redactor = Redactor([("A", "tok/en/value-1")])
    call = ToolCall(id="c1", name="shell", arguments=f'{{"command": "echo {written}"}}')
    (redacted,) = redacted_turn(LLMTurnResult(tool_calls=(call,)), redactor).tool_calls
    assert redacted.arguments == '{"command": "echo [secret:A]"}'


@pytest.mark.parametrize("arguments", ['{"a": "\\u00e9"}', '{"a": "\\ud800"}', '{"a": "\\u00', "[" * 5000 + "\\u0041"])
def test_arguments_without_a_secret_stay_unchanged(arguments):
    call = ToolCall(id="c1", name="shell", arguments=arguments)
    turn = LLMTurnResult(tool_calls=(call,), thinking=Thinking(text="hm", blocks=SIGNED))
    assert redacted_turn(turn, REDACTOR) == turn == replace(turn)

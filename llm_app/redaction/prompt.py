"""Redaction of requests before they are sent. The log stores the spans that the record contains unredacted.

A secret may be saved after it was mentioned. Older entries do not change, so each request made of them is redacted.
With the stored spans the exact request can be rebuilt, even after the secret is deleted.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from operator import attrgetter

from llm_app.redaction.redactor import Redactor, Span, with_placeholders
from llm_app.redaction.turn import has_escapes, redacted_arguments, redacted_thinking
from llm_app.types import Message, Prompt, ToolSpec

LoggedSpan = tuple[int, str, int, int, str]  # seq of the entry, field of its message, offset, length, placeholder
_secrets_version = attrgetter("masked_with")
_CONTENT, _THINKING, _ARGUMENTS, _PICTURE = "content", "thinking", "arguments", "picture"


@dataclass(frozen=True, kw_only=True, slots=True)
class RedactedPrompt:
    prompt: Prompt
    spans: Sequence[LoggedSpan]


def redacted_prompt(prompt: Prompt, redactor: Redactor) -> RedactedPrompt:
    """Return the prompt with redacted messages. Messages already scanned for these secrets are not scanned again."""
    if set(map(_secrets_version, prompt.messages)) == {redactor.version}:
        return RedactedPrompt(prompt=prompt, spans=[])
    redacted = {
        index: _redacted_once(message, redactor)
        for index, message in enumerate(prompt.messages)
        if message.masked_with != redactor.version
    }
    spans = [span for _, logged_spans in redacted.values() for span in logged_spans]
    if spans:  # otherwise keep the same objects, which cache their bytes
        messages = list(prompt.messages)
        for index, (message, _) in redacted.items():
            messages[index] = message
        prompt = replace(prompt, messages=messages)
    return RedactedPrompt(prompt=prompt, spans=spans)


def _redacted_once(message: Message, redactor: Redactor) -> tuple[Message, Sequence[LoggedSpan]]:
    if redactor.version not in message.redacted:
        spans = tuple(_spans(message, redactor))
        message.redacted.clear()
        message.redacted[redactor.version] = (with_spans(message, spans), spans)
    return message.redacted[redactor.version]


def _spans(message: Message, redactor: Redactor) -> Iterable[LoggedSpan]:
    for field, text in _texts(message).items():
        spans = redactor.redact(text).spans
        if field == _THINKING and not spans and _blocks_contain_secret(message, redactor):
            spans = (Span(offset=0, length=0, placeholder=""),)
        if field == _ARGUMENTS and has_escapes(text):
            redacted_text = redacted_arguments(text, redactor)
            is_same = redacted_text == with_placeholders(text, spans)
            spans = spans if is_same else (Span(offset=0, length=len(text), placeholder=redacted_text),)
        for span in spans:
            yield (message.seq, field, span.offset, span.length, span.placeholder)


def _blocks_contain_secret(message: Message, redactor: Redactor) -> bool:
    """Return whether the signed parts of the thinking contain a secret that the visible text does not."""
    return message.thinking is not None and redacted_thinking(message.thinking, redactor) != message.thinking


def with_spans(message: Message, spans: Iterable[LoggedSpan]) -> Message:
    """Return the message as it was sent, with the placeholders of a log's spans. Replay needs nothing else."""
    by_field: defaultdict[str, list[Span]] = defaultdict(list)
    for _, field, offset, length, placeholder in spans:
        by_field[field].append(Span(offset=offset, length=length, placeholder=placeholder))
    texts = _texts(message)
    redacted = {field: with_placeholders(texts[field], field_spans) for field, field_spans in by_field.items()}
    return _with_texts(message, redacted)


def _texts(message: Message) -> dict[str, str]:
    """Return the texts of a message that may contain a secret. Names and ids of calls were redacted on arrival."""
    texts = {_CONTENT: message.content}
    if message.tool_call:
        texts[_ARGUMENTS] = message.tool_call.arguments
    if message.thinking:
        texts[_THINKING] = message.thinking.text
    return texts | {f"{_PICTURE} {number}": picture.path for number, picture in enumerate(message.pictures)}


def _with_texts(message: Message, texts: Mapping[str, str]) -> Message:
    """Return the message with some texts replaced. Changed thinking loses its signed parts."""
    if not texts:
        return message
    call, thinking = message.tool_call, message.thinking
    return replace(
        message,
        content=texts.get(_CONTENT, message.content),
        tool_call=call and replace(call, arguments=texts.get(_ARGUMENTS, call.arguments)),
        thinking=replace(thinking, text=texts[_THINKING], blocks=()) if thinking and _THINKING in texts else thinking,
        pictures=tuple(
            replace(picture, path=texts.get(f"{_PICTURE} {number}", picture.path))
            for number, picture in enumerate(message.pictures)
        ),
        encoded={},
        redacted={},
    )


# --- parts that are stored before they are sent ----------------------------------------------------------------------


@lru_cache(maxsize=64)
def redacted_system(system: str, redactor: Redactor) -> str:
    return redactor.redacted(system)


def redacted_tools(tools: Iterable[ToolSpec], redactor: Redactor) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(**redactor.redacted_json(asdict(tool))) for tool in tools)

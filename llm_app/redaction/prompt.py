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

Noted = tuple[int, str, int, int, str]  # seq of the entry, field of its message, offset, length, placeholder
_masked_with = attrgetter("masked_with")
_CONTENT, _THINKING, _ARGUMENTS, _PICTURE = "content", "thinking", "arguments", "picture"


@dataclass(frozen=True, kw_only=True, slots=True)
class RedactedPrompt:
    prompt: Prompt
    spans: Sequence[Noted]


def redacted_prompt(prompt: Prompt, redactor: Redactor) -> RedactedPrompt:
    """Return the prompt with redacted messages. Messages already scanned for these secrets are not scanned again."""
    if set(map(_masked_with, prompt.messages)) == {redactor.version}:
        return RedactedPrompt(prompt=prompt, spans=[])
    redacted = {
        place: _redacted_once(message, redactor)
        for place, message in enumerate(prompt.messages)
        if message.masked_with != redactor.version
    }
    spans = [span for _, noted in redacted.values() for span in noted]
    if spans:  # otherwise keep the same objects, which cache their bytes
        messages = [redacted[place][0] if place in redacted else one for place, one in enumerate(prompt.messages)]
        prompt = replace(prompt, messages=messages)
    return RedactedPrompt(prompt=prompt, spans=spans)


def _redacted_once(message: Message, redactor: Redactor) -> tuple[Message, Sequence[Noted]]:
    if redactor.version not in message.redacted:
        spans = tuple(_spans(message, redactor))
        message.redacted.clear()
        message.redacted[redactor.version] = (with_spans(message, spans), spans)
    return message.redacted[redactor.version]


def _spans(message: Message, redactor: Redactor) -> Iterable[Noted]:
    for field, text in _texts(message).items():
        spans = redactor.redact(text).spans
        if field == _THINKING and not spans and _must_be_left_out(message, redactor):
            spans = (Span(offset=0, length=0, placeholder=""),)
        if field == _ARGUMENTS and has_escapes(text):
            written = redacted_arguments(text, redactor)
            is_same = written == with_placeholders(text, spans)
            spans = spans if is_same else (Span(offset=0, length=len(text), placeholder=written),)
        for span in spans:
            yield (message.seq, field, span.offset, span.length, span.placeholder)


def _must_be_left_out(message: Message, redactor: Redactor) -> bool:
    """Return whether the signed parts of the thinking contain a secret that the visible text does not."""
    return message.thinking is not None and redacted_thinking(message.thinking, redactor) != message.thinking


def with_spans(message: Message, spans: Iterable[Noted]) -> Message:
    """Return the message as it was sent, with the placeholders of a log's spans. Replay needs nothing else."""
    by_field: defaultdict[str, list[Span]] = defaultdict(list)
    for _, field, offset, length, placeholder in spans:
        by_field[field].append(Span(offset=offset, length=length, placeholder=placeholder))
    texts = _texts(message)
    return _with_texts(message, {field: with_placeholders(texts[field], found) for field, found in by_field.items()})


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

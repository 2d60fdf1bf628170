"""A request on its way out: what the record has in clear is masked, and noted for the log.

A secret may be saved after it was said. Older entries stay as they are, so the door masks what becomes of them. From
the noted spans the very request can be rebuilt, also when the secret is long deleted.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

from llm_app.redaction.masker import Masker, Span, replaced
from llm_app.redaction.turn import masked_thinking
from llm_app.types import Message, Prompt, ToolSpec

Noted = tuple[int, str, int, int, str]  # seq of the entry, field of its message, offset, length, placeholder
_CONTENT, _THINKING, _ARGUMENTS, _PICTURE = "content", "thinking", "arguments", "picture"


@dataclass(frozen=True, kw_only=True, slots=True)
class MaskedPrompt:
    prompt: Prompt
    spans: Sequence[Noted]


def masked_prompt(prompt: Prompt, masker: Masker) -> MaskedPrompt:
    """With each message masked. What was masked with these secrets, or scanned for them, is not scanned again."""
    messages: list[Message] = []
    spans: list[Noted] = []
    for message in prompt.messages:
        if message.masked_with == masker.version:
            messages.append(message)
        else:
            masked, noted = _known(message, masker)
            messages.append(masked)
            spans += noted
    return MaskedPrompt(prompt=replace(prompt, messages=messages), spans=spans)


def _known(message: Message, masker: Masker) -> tuple[Message, Sequence[Noted]]:
    if masker.version not in message.masked:
        spans = tuple(_spans(message, masker))
        message.masked.clear()
        message.masked[masker.version] = (with_spans(message, spans), spans)
    return message.masked[masker.version]


def _spans(message: Message, masker: Masker) -> Iterable[Noted]:
    for field, text in _texts(message).items():
        spans = masker.mask(text).spans
        if field == _THINKING and not spans and _must_be_left_out(message, masker):
            spans = (Span(offset=0, length=0, placeholder=""),)
        for span in spans:
            yield (message.seq, field, span.offset, span.length, span.placeholder)


def _must_be_left_out(message: Message, masker: Masker) -> bool:
    """Whether the signed parts of the thinking say what the text beside them does not."""
    return message.thinking is not None and masked_thinking(message.thinking, masker) != message.thinking


def with_spans(message: Message, spans: Iterable[Noted]) -> Message:
    """The message as it was sent: with the placeholders of a log's spans. Nothing else is needed for that."""
    by_field: defaultdict[str, list[Span]] = defaultdict(list)
    for _, field, offset, length, placeholder in spans:
        by_field[field].append(Span(offset=offset, length=length, placeholder=placeholder))
    texts = _texts(message)
    return _with(message, {field: replaced(texts[field], found) for field, found in by_field.items()})


def _texts(message: Message) -> dict[str, str]:
    """All in a message that may say a secret. Names and ids of calls were masked when they came."""
    texts = {_CONTENT: message.content}
    if message.tool_call:
        texts[_ARGUMENTS] = message.tool_call.arguments
    if message.thinking:
        texts[_THINKING] = message.thinking.text
    return texts | {f"{_PICTURE} {number}": picture.path for number, picture in enumerate(message.pictures)}


def _with(message: Message, texts: Mapping[str, str]) -> Message:
    """The message with some of its texts. Thinking that changes loses its signed parts."""
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
        masked={},
    )


# --- what is stored before it is sent -----------------------------------------------------------------------------


@lru_cache(maxsize=64)
def masked_system(system: str, masker: Masker) -> str:
    return masker.masked(system)


def masked_tools(tools: Iterable[ToolSpec], masker: Masker) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(**masker.masked_json(asdict(tool))) for tool in tools)

"""Placeholders for the secrets in texts and streams. No fragment of a stream reveals a part of a secret."""

import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from llm_app.redaction.encodings import forms_of
from llm_app.redaction.needles import Hit, Needles

logger = logging.getLogger(__name__)
WITHHELD = "[withheld: redaction failed]"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_PLACEHOLDER = re.compile(rf"\[secret:({NAME.pattern})\]")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


def placeholder(name: str) -> str:
    """Return a placeholder that needs no escaping in JSON, URLs or Markdown."""
    return f"[secret:{_UNSAFE.sub('_', name)}]"


def names_in(value: Any) -> set[str]:
    """Return the names of all placeholders in a JSON value."""
    if isinstance(value, str):
        return set(_PLACEHOLDER.findall(value))
    if isinstance(value, dict):
        return set().union(*map(names_in, value.values()))
    return set().union(*map(names_in, value)) if isinstance(value, list) else set()


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A part of a text that a placeholder replaces, in code points of the unredacted text."""

    offset: int
    length: int
    placeholder: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Redacted:
    text: str
    spans: tuple[Span, ...] = ()


class Redactor:
    """A redactor of some secrets, given as pairs of name and value. If a value has several names, the first is used.

    `version` identifies the set of secrets, and is the same in every process.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        secrets = list(secrets)
        self.version = hashlib.sha256(json.dumps(sorted(secrets)).encode()).hexdigest()[:16]
        placeholders = "\n".join(placeholder(name) for name, _ in secrets)
        written: dict[str, str] = {}
        packed: dict[str, str] = {}
        for name, value in secrets:
            for needles, forms in ((written, forms_of(value).written), (packed, forms_of(value).packed)):
                # Names are not secret, and redacting a redacted text again must not change it.
                needles |= {form: placeholder(name) for form in forms - needles.keys() if form not in placeholders}
        self._written, self._packed = Needles(written), Needles(packed)

    def redact(self, text: str) -> Redacted:
        """Redact a text. Never raises: a text that cannot be redacted is withheld."""
        try:
            spans = self.spans(text)
            return Redacted(text=with_placeholders(text, spans), spans=spans) if spans else Redacted(text=text)
        except Exception as error:  # noqa: BLE001  after any failure, the text must not pass
            logger.error("redaction failed, a text is withheld: %s", type(error).__name__)
            return Redacted(text=WITHHELD, spans=(Span(offset=0, length=len(text), placeholder=WITHHELD),))

    def redacted(self, text: str) -> str:
        return text if self.is_clean(text) else self.redact(text).text

    def redacted_beginning(self, text: str) -> str:
        """Redact a truncated text. A tail that could be the beginning of a secret is removed."""
        try:
            text = text[: self.partial_start(text)]
        except Exception as error:  # noqa: BLE001  as in `redact`
            logger.error("redaction failed, a text is withheld: %s", type(error).__name__)
            return WITHHELD
        return self.redacted(text)

    def redacted_json(self, value: Any) -> Any:
        """Return a JSON value with every text redacted, including the names of fields.

        Most values contain no secret: checking all texts together is five times as fast as checking each.
        """
        return value if self.is_clean(texts_in(value)) else _map_texts(value, self.redacted)

    def is_clean(self, text: str) -> bool:
        """Return whether nothing in the text would be redacted."""
        try:
            return not (self._written.occur_in(text) or self._packed.occur_in("".join(text.split())))
        except Exception:  # noqa: BLE001  `redact` withholds what fails, and logs it
            return False

    # --- for streams --------------------------------------------------------------------------------------------

    def spans(self, text: str) -> tuple[Span, ...]:
        """Return the parts to replace, in order and without overlaps."""
        hits = self._written.hits(text)
        packed = "".join(text.split())
        if packed_hits := self._packed.hits(packed):
            hits += packed_hits if len(packed) == len(text) else _in_original_text(packed_hits, text)
        return _merged_spans(hits) if hits else ()

    def partial_start(self, text: str) -> int:
        """Return the position from which the text is the beginning of a secret's form, else the length of the text."""
        written, packed = self._written.partial_start(text), "".join(text.split())
        position = self._packed.partial_start(packed)
        if position == len(packed):
            return written
        return min(written, position if len(packed) == len(text) else _start_of_last(text, len(packed) - position))


def texts_in(value: Any) -> str:
    """Return all texts of a JSON value in one string.

    Its JSON, which is fast to make, suffices if nothing is escaped.
    """
    try:
        serialized = orjson.dumps(value, default=str).decode()
    except TypeError:  # a field name that is no string, or half of a surrogate pair
        serialized = "\\"
    return "\n".join(_texts(value)) if "\\" in serialized else serialized


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [*map(str, value), *value.values()]
    if not isinstance(value, (list, tuple)):
        return []
    texts = [item for item in value if isinstance(item, str)]
    for item in value:
        if isinstance(item, (dict, list, tuple)):
            texts += _texts(item)
    return texts


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with a function applied to each text."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(name)): _map_texts(item, change) for name, item in value.items()}
    return [_map_texts(item, change) for item in value] if isinstance(value, (list, tuple)) else value


def with_placeholders(text: str, spans: Iterable[Span]) -> str:
    """Return the text with placeholders in place of the spans. Replay needs nothing else."""
    parts, end = [], 0
    for span in spans:
        parts += [text[end : span.offset], span.placeholder]
        end = span.offset + span.length
    return "".join([*parts, text[end:]])


def _in_original_text(hits: Iterable[Hit], text: str) -> list[Hit]:
    """Convert hits in a text without white space to hits in the original text."""
    positions = [position for position, character in enumerate(text) if not character.isspace()]
    return [Hit(start=positions[hit.start], end=positions[hit.end - 1] + 1, label=hit.label) for hit in hits]


def _start_of_last(text: str, count: int) -> int:
    """Return the position of the last `count` characters that are not white space."""
    for position in range(len(text) - 1, -1, -1):
        count -= not text[position].isspace()
        if not count:
            return position
    return len(text)


def _merged_spans(hits: list[Hit]) -> tuple[Span, ...]:
    """Merge overlapping hits into spans with the label of the longest hit; of the first one if equal."""
    hits.sort(key=lambda hit: (hit.start, -hit.end, hit.label))
    groups: list[list[Hit]] = []
    end = 0
    for hit in hits:
        if groups and hit.start < end:
            groups[-1].append(hit)
        else:
            groups.append([hit])
        end = max(end, hit.end)
    spans = []
    for group in groups:
        start, end = group[0].start, max(hit.end for hit in group)
        longest = max(group, key=lambda hit: hit.end - hit.start)
        spans.append(Span(offset=start, length=end - start, placeholder=longest.label))
    return tuple(spans)


_LONG_TAIL = 4_096  # characters; only repetitive secrets ("abab…") can hold back more


class StreamRedactor:
    """A redactor of streams. Its output is the same as that of redacting the complete text.

    It only holds back a tail that may be the beginning of a secret's form. A very long tail is only checked again after
    it has grown by an eighth, so that the time stays linear.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._added: list[str] = []
        self._added_size = 0
        self._failed = False

    def feed(self, text: str) -> str:
        """Add a fragment, and return the next part of the redacted text; empty while everything is held back."""
        return self._redacted_part(text, is_last=False)

    def flush(self) -> str:
        """Return the rest at the end of the stream."""
        return self._redacted_part("", is_last=True)

    def _redacted_part(self, text: str, *, is_last: bool) -> str:
        """Return the next part of the redacted text. Never raises: after a failure the stream is withheld."""
        if self._failed:
            return ""
        try:
            self._added.append(text)
            self._added_size += len(text)
            if not is_last and len(self._held) > _LONG_TAIL and self._added_size * 8 < len(self._held):
                return ""
            text = "".join([self._held, *self._added])
            self._added, self._added_size = [], 0
            return self._release(text, is_last=is_last)
        except Exception as error:  # noqa: BLE001  after any failure, the text must not pass
            logger.error("redaction failed, a stream is withheld: %s", type(error).__name__)
            self._failed, self._held, self._added = True, "", []
            return WITHHELD

    def _release(self, text: str, *, is_last: bool) -> str:
        end = len(text) if is_last else self._redactor.partial_start(text)
        spans = self._redactor.spans(text)
        # The held-back tail may overlap a secret before it. Then both are redacted as one span later.
        end = min([end, *(span.offset for span in spans if span.offset < end < span.offset + span.length)])
        self._held = text[end:]
        return with_placeholders(text[:end], [span for span in spans if span.offset < end])

"""Placeholders for the secrets in a text, also in one that arrives in pieces: no piece shows a part of a secret."""

import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import orjson

from llm_app.redaction.encodings import forms_of
from llm_app.redaction.needles import Hit, Needles

logger = logging.getLogger(__name__)
WITHHELD = "[withheld: redaction failed]"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_PLACEHOLDER = re.compile(rf"\[secret:({NAME.pattern})\]")
_OTHER = re.compile(r"[^A-Za-z0-9_.-]")


def placeholder(name: str) -> str:
    """In a form that needs no escaping in JSON, URLs or Markdown."""
    return f"[secret:{_OTHER.sub('_', name)}]"


def names_in(value: Any) -> set[str]:
    """The names of all placeholders in a JSON value."""
    if isinstance(value, str):
        return set(_PLACEHOLDER.findall(value))
    if isinstance(value, dict):
        return set().union(*map(names_in, value.values()))
    return set().union(*map(names_in, value)) if isinstance(value, list) else set()


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A part of a text that a placeholder replaces; in code points of the text before redacting."""

    offset: int
    length: int
    placeholder: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Redacted:
    text: str
    spans: tuple[Span, ...] = ()


class Redactor:
    """Knows some secrets, as pairs of name and value. Of two names for one value, the first is shown.

    `version` differs between two sets of secrets, and is the same for the same set in every process.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        secrets = list(secrets)
        self.version = hashlib.sha256(json.dumps(sorted(secrets)).encode()).hexdigest()[:16]
        placeholders = "\n".join(placeholder(name) for name, _ in secrets)
        written: dict[str, str] = {}
        packed: dict[str, str] = {}
        for name, value in secrets:
            for needles, forms in ((written, forms_of(value).written), (packed, forms_of(value).packed)):
                # A name is no secret, and redacting what is redacted already must change nothing.
                needles |= {form: placeholder(name) for form in forms - needles.keys() if form not in placeholders}
        self._written, self._packed = Needles(written), Needles(packed)

    def redact(self, text: str) -> Redacted:
        """Never raises: a text that cannot be redacted is withheld."""
        try:
            spans = self.spans(text)
            return Redacted(text=with_placeholders(text, spans), spans=spans) if spans else Redacted(text=text)
        except Exception as error:  # noqa: BLE001  whatever it is, the text must not pass
            logger.error("redaction failed, a text is withheld: %s", type(error).__name__)
            return Redacted(text=WITHHELD, spans=(Span(offset=0, length=len(text), placeholder=WITHHELD),))

    def redacted(self, text: str) -> str:
        return text if self.is_clean(text) else self.redact(text).text

    def redacted_beginning(self, text: str) -> str:
        """For a text whose end was cut off: without a tail that could be the beginning of a secret."""
        try:
            text = text[: self.open_end(text)]
        except Exception as error:  # noqa: BLE001  as in `redact`
            logger.error("redaction failed, a text is withheld: %s", type(error).__name__)
            return WITHHELD
        return self.redacted(text)

    def redacted_json(self, value: Any) -> Any:
        """A JSON value with every text in it redacted, the names of fields too.

        Most have no secret: one look at all texts together is five times as cheap as one at each.
        """
        return value if self.is_clean(texts_in(value)) else _with_each(value, self.redacted)

    def is_clean(self, text: str) -> bool:
        """Whether nothing of it would be redacted."""
        try:
            return not (self._written.occur_in(text) or self._packed.occur_in("".join(text.split())))
        except Exception:  # noqa: BLE001  `redact` withholds what fails, and logs it
            return False

    # --- what a stream needs beside it --------------------------------------------------------------------------

    def spans(self, text: str) -> tuple[Span, ...]:
        """What to replace, in order and apart from each other."""
        hits = self._written.hits(text)
        packed = "".join(text.split())
        if found := self._packed.hits(packed):
            hits += found if len(packed) == len(text) else _unpacked(found, text)
        return _joined(hits) if hits else ()

    def open_end(self, text: str) -> int:
        """From where on the text is the beginning of a form of a secret; its length if it ends with none."""
        written, packed = self._written.open_end(text), "".join(text.split())
        place = self._packed.open_end(packed)
        if place == len(packed):
            return written
        return min(written, place if len(packed) == len(text) else _last_begin(text, len(packed) - place))


def texts_in(value: Any) -> str:
    """All texts of a JSON value. As JSON, which is made quickly, they stay as they are where nothing is escaped."""
    try:
        written = orjson.dumps(value, default=str).decode()
    except TypeError:  # a name that is no text, or half of a surrogate pair
        written = "\\"
    return "\n".join(_texts(value)) if "\\" in written else written


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


def _with_each(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with each of its texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(name)): _with_each(item, change) for name, item in value.items()}
    return [_with_each(item, change) for item in value] if isinstance(value, (list, tuple)) else value


def with_placeholders(text: str, spans: Iterable[Span]) -> str:
    """`text` with placeholders in the place of `spans`. This is all that replay needs."""
    parts, end = [], 0
    for span in spans:
        parts += [text[end : span.offset], span.placeholder]
        end = span.offset + span.length
    return "".join([*parts, text[end:]])


def _unpacked(hits: Iterable[Hit], text: str) -> list[Hit]:
    """Hits in a text without its white space → the same in the text."""
    places = _places(text)
    return [Hit(start=places[hit.start], end=places[hit.end - 1] + 1, label=hit.label) for hit in hits]


def _places(text: str) -> list[int]:
    return [place for place, character in enumerate(text) if not character.isspace()]


def _last_begin(text: str, count: int) -> int:
    """Where its last characters begin, so many that are no white space."""
    for place in range(len(text) - 1, -1, -1):
        count -= not text[place].isspace()
        if not count:
            return place
    return len(text)


def _joined(hits: list[Hit]) -> tuple[Span, ...]:
    """Where hits overlap, all that they cover becomes one span with the label of the longest, of the first if equal."""
    hits.sort(key=lambda hit: (hit.start, -hit.end, hit.label))
    groups: list[list[Hit]] = []
    end = 0
    for hit in hits:
        if groups and hit.start < end:
            groups[-1].append(hit)
        else:
            groups.append([hit])
        end = max(end, hit.end)
    return tuple(_span(group, max(map(attrgetter("end"), group))) for group in groups)


def _span(group: list[Hit], end: int) -> Span:
    longest = max(group, key=lambda hit: hit.end - hit.start)
    return Span(offset=group[0].start, length=end - group[0].start, placeholder=longest.label)


_LONG = 4_096  # characters; only a secret that goes on in itself ("abab…") is held back for longer


class StreamRedactor:
    """Whatever the pieces, together they give what redacting the whole text gives.

    Held back is only a tail that is itself the beginning of some form of a secret, until it goes on in another way.
    A tail that has become very long is looked at again only after an eighth of it has been added, so that the time
    grows with the text.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._added: list[str] = []
        self._added_size = 0
        self._failed = False

    def feed(self, text: str) -> str:
        """The next piece of the redacted text; empty while all of it is held back."""
        return self._redacted_part(text, is_last=False)

    def flush(self) -> str:
        """The rest, when nothing more is to come."""
        return self._redacted_part("", is_last=True)

    def _redacted_part(self, text: str, *, is_last: bool) -> str:
        """Never raises: after a failure the stream is withheld."""
        if self._failed:
            return ""
        try:
            self._added.append(text)
            self._added_size += len(text)
            if not is_last and len(self._held) > _LONG and self._added_size * 8 < len(self._held):
                return ""
            text = "".join([self._held, *self._added])
            self._added, self._added_size = [], 0
            return self._next(text, is_last=is_last)
        except Exception as error:  # noqa: BLE001  whatever it is, the text must not pass
            logger.error("redaction failed, a stream is withheld: %s", type(error).__name__)
            self._failed, self._held, self._added = True, "", []
            return WITHHELD

    def _next(self, text: str, *, is_last: bool) -> str:
        end = len(text) if is_last else self._redactor.open_end(text)
        spans = self._redactor.spans(text)
        # What begins at `end` may overlap a secret before it: then they are redacted as one, when it is known.
        end = min([end, *(span.offset for span in spans if span.offset < end < span.offset + span.length)])
        self._held = text[end:]
        return with_placeholders(text[:end], [span for span in spans if span.offset < end])

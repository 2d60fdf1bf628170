"""Texts of DrawingML (ISO 29500-1, 21.1.2): paragraphs with bullets, automatic numbers and links."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from posixpath import basename

from tools_app.documents.office import equation
from tools_app.documents.office.package import Relationship
from tools_app.documents.office.symbols import with_symbols
from tools_app.documents.opendocument import Element, attribute, local_name
from tools_app.documents.word.numbering import written

_BULLETS = ("buNone", "buChar", "buAutoNum", "buBlip")
_CHECKS = set("✓✔✗✘☐☑☒→⇒")
_AUTOMATIC = re.compile(r"(alphaLc|alphaUc|arabic|romanLc|romanUc)(ParenBoth|ParenR|Period|Plain)")
_FORMS = {"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman"}
_FRAMES = {"ParenBoth": "({})", "ParenR": "{})", "Period": "{}.", "Plain": "{}"}
_RAISABLE = set("0123456789+-−=() ")
_RAISED = str.maketrans("0123456789+-−=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾")
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2007": " ", "\u2011": "-", "\u00ad": None, "\v": "\n"})


class TextReader:
    """A reader of text bodies. `styles` are the list styles that a body inherits, the nearest first."""

    def __init__(
        self, relationships: Mapping[str, Relationship], numbers: Mapping[str, int], styles: Sequence[Element]
    ) -> None:
        self._relationships = relationships
        self._numbers = numbers
        self._styles = styles

    def lines(self, body: Element) -> Iterator[str]:
        """Yield the paragraphs, each behind its bullet or number."""
        counters: dict[int, tuple[str, int]] = {}
        own_style = body.find("{*}lstStyle")
        styles = [*([own_style] if own_style is not None else []), *self._styles]
        for paragraph in body.iterchildren("{*}p"):
            text = self.text(paragraph)
            properties = paragraph.find("{*}pPr")
            level_text = properties.get("lvl", "0") if properties is not None else "0"
            level = int(level_text) if level_text.isdecimal() else 0
            if not text.strip():
                yield ""
                continue
            bullet = _bullet(properties, level, styles)
            prefix = ""
            counters = {depth: counter for depth, counter in counters.items() if depth <= level}
            if bullet is not None and local_name(bullet) == "buAutoNum":
                kind, start = bullet.get("type", ""), bullet.get("startAt", "1")
                before = counters.get(level)
                number = before[1] + 1 if before and before[0] == f"{kind} {start}" else int(start)
                counters[level] = (f"{kind} {start}", number)
                prefix = f"{_numbered(kind, number)} "
            else:
                counters.pop(level, None)
                if bullet is not None and local_name(bullet) != "buNone":
                    sign = bullet.get("char", "")
                    prefix = f"{sign} " if sign in _CHECKS else "- "
            yield f"{'  ' * level if prefix else ''}{prefix}{text}"

    def text(self, paragraph: Element) -> str:
        """Return the text of a paragraph with the targets of its links."""
        texts = []
        for target, group in groupby(self._linked_texts(paragraph), key=itemgetter(1)):
            text = "".join(part for part, _ in group)
            texts.append(linked(text, target))
        return "".join(texts)

    def target(self, element: Element | None) -> str:
        """Return the address of a link, or "to slide 3", or "" if it leads nowhere."""
        if element is None:
            return ""
        relationship = self._relationships.get(attribute(element, "id"))
        if relationship is None:
            return ""
        if relationship.target in self._numbers:
            return f"to slide {self._numbers[relationship.target]}"
        return relationship.target if relationship.is_external else basename(relationship.target)

    def _linked_texts(self, element: Element) -> Iterator[tuple[str, str]]:
        """Yield texts with the targets of their links."""
        for child in element:
            name = local_name(child)
            if name == "br":
                yield "\n", ""
            elif name == "oMath":
                yield equation.linear(child), ""
            elif name == "AlternateContent":
                yield from next(filter(None, (list(self._linked_texts(version)) for version in child)), [])
            elif name in ("r", "fld"):
                yield self._run(child), self.target(child.find("{*}rPr/{*}hlinkClick"))
            elif name not in ("pPr", "endParaRPr"):
                yield from self._linked_texts(child)

    def _run(self, run: Element) -> str:
        properties, text = run.find("{*}rPr"), "".join(run.itertext("{*}t"))
        if properties is None:
            return text.translate(_SPACES)
        for name in ("latin", "sym"):
            font = properties.find(f"{{*}}{name}")
            if font is not None:
                text = with_symbols(text, font.get("typeface", ""), has_letters=name == "sym" or len(text.strip()) > 2)
        text = text.translate(_SPACES)
        raised = properties.get("baseline", "0").removesuffix("%")
        if raised.isdecimal() and int(raised) > 0 and set(text) <= _RAISABLE:
            text = text.translate(_RAISED)
        is_struck = properties.get("strike", "noStrike") != "noStrike" and text.strip()
        return f"~~{text}~~" if is_struck else text


def linked(text: str, target: str) -> str:
    """Return the text with the target of its link, unless it is the target itself."""
    if not target or not text.strip() or text.strip() in (target, target.removeprefix("mailto:")):
        return text
    return f"{text} ({target})" if target.startswith("to slide ") else f"[{text}]({target})"


def _bullet(properties: Element | None, level: int, styles: Sequence[Element]) -> Element | None:
    """Return the bullet of a paragraph: its own, or that of the nearest style with one for its level."""
    inherited = (style.find(f"{{*}}lvl{level + 1}pPr") for style in styles)
    for candidate in (properties, *inherited):
        for child in candidate if candidate is not None else ():
            if local_name(child) in _BULLETS:
                return child
    return None


def _numbered(kind: str, number: int) -> str:
    """Return an automatic number (ST_TextAutonumberScheme, 20.1.10.61)."""
    match = _AUTOMATIC.fullmatch(kind)
    if not match:
        return f"{number}."
    return _FRAMES[match[2]].format(written(number, _FORMS.get(match[1], "decimal")))

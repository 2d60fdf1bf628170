"""Automatic numbers of paragraphs (ISO 29500-1, 17.9), as they are printed."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tools_app.documents.office.symbols import with_symbols
from tools_app.documents.opendocument import Element, attribute
from tools_app.documents.word.fields import is_on
from tools_app.documents.word.styles import Styles, value

_LEVELS = 9
_PLACEHOLDER = re.compile("%([1-9])")
_MAX_NUMBER = 100_000  # higher ones are written in digits
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_CHINESE = "〇一二三四五六七八九"
_ONES = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
         "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
             "twelve": "twelfth"}  # fmt: skip
_PLAIN_BULLETS = set("•·o▪■◦‣⁃–—-●○□◻◆❖❑❒➢►▶∙⬧⧫ ") | {chr(code) for code in range(0xF000, 0xF100)}


@dataclass(frozen=True, kw_only=True)
class Level:
    """A level of a list. `text` has a placeholder such as %1 for the number of each level."""

    start: int
    form: str
    text: str
    restarts_after: int | None  # a level from 1 on; 0 is never
    is_legal: bool
    suffix: str
    font: str
    style: str


@dataclass(frozen=True, kw_only=True)
class _List:
    """A list with its levels. Lists of one `abstract` definition share their counters."""

    abstract: str
    levels: dict[int, Level]
    starts: dict[int, int]


class Numbering:
    """The counters of all lists of a document."""

    def __init__(self, root: Element | None, styles: Styles) -> None:
        self._styles = styles
        self._lists = dict(_lists(root, styles)) if root is not None else {}
        self._counters: defaultdict[str, list[int | None]] = defaultdict(lambda: [None] * _LEVELS)
        self._overridden: set[tuple[str, int]] = set()

    def label(self, properties: Element | None, *, is_removed: bool) -> str | None:
        """Return number and separator in front of a paragraph, "" if the number is empty, None outside of a list.

        A paragraph that `is_removed` by a tracked change shows its number and does not count.
        """
        number, level = self._place(properties)
        if not number or number == "0":
            return None
        definition = self._lists.get(number)
        if definition is None or level not in definition.levels:
            return "- "
        counters = self._counters[definition.abstract]
        before = list(counters)
        self._advance(number, definition, level)
        shown = definition.levels[level]
        text = self._text(definition, level)
        if is_removed:
            counters[:] = before
        if shown.form == "bullet":
            return f"{'  ' * level}{_bullet(text, shown.font)}"
        separator = "" if shown.suffix == "nothing" or not text.strip() else " "
        return f"{text.strip()}{separator}" if separator else text

    def _place(self, properties: Element | None) -> tuple[str, int]:
        """Return the list's number and the level of a paragraph, by itself or by its style (17.9.22, 17.9.24)."""
        number, level = value(properties, "{*}numPr/{*}numId"), value(properties, "{*}numPr/{*}ilvl")
        if number:
            return number, int(level) if level.isdecimal() else 0
        keys = []
        for key, style in self._styles.chain(self._styles.of_paragraph(properties)):
            keys.append(key)
            level = level or value(style, "{*}pPr/{*}numPr/{*}ilvl")
            number = number or value(style, "{*}pPr/{*}numPr/{*}numId")
        definition = self._lists.get(number)
        linked = [
            index
            for key in keys
            for index, one in (definition.levels if definition else {}).items()
            if one.style == key
        ]
        if linked:
            return number, linked[0]
        return number, int(level) if level.isdecimal() else 0

    def _advance(self, number: str, definition: _List, level: int) -> None:
        counters = self._counters[definition.abstract]
        for index, start in definition.starts.items():
            if (number, index) not in self._overridden and index <= level:
                self._overridden.add((number, index))
                counters[index] = start - 1 if index == level else None
        current = counters[level]
        counters[level] = definition.levels[level].start if current is None else current + 1
        for index in range(level + 1, _LEVELS):
            deeper = definition.levels.get(index)
            restart = deeper.restarts_after if deeper else None
            if restart is None or 0 < level + 1 <= restart:
                counters[index] = None

    def _text(self, definition: _List, level: int) -> str:
        counters, shown = self._counters[definition.abstract], definition.levels[level]

        def counter(match: re.Match[str]) -> str:
            index = int(match[1]) - 1
            one = definition.levels.get(index)
            if one is None:
                return ""
            number = counters[index]
            form = "decimal" if shown.is_legal and one.form != "decimalZero" else one.form
            return written(one.start if number is None else number, form)

        return shown.text if shown.form == "bullet" else _PLACEHOLDER.sub(counter, shown.text)


def _lists(root: Element, styles: Styles) -> Iterator[tuple[str, _List]]:
    """Yield the lists by number."""
    abstracts = {attribute(element, "abstractNumId"): element for element in root.iterchildren("{*}abstractNum")}
    numbers = {attribute(element, "numId"): element for element in root.iterchildren("{*}num")}
    for number, element in numbers.items():
        key = value(element, "{*}abstractNumId")
        link = value(abstracts.get(key), "{*}numStyleLink")
        if link and (target := numbers.get(styles.numbering_of_list_style(link))) is not None:
            key = value(target, "{*}abstractNumId")
        elif link:
            key = next((name for name, one in abstracts.items() if value(one, "{*}styleLink") == link), key)
        abstract = abstracts.get(key)
        if abstract is None:
            continue
        levels = {level: parsed for level, parsed in map(_level, abstract.iterchildren("{*}lvl")) if level < _LEVELS}
        starts = {}
        for override in element.iterchildren("{*}lvlOverride"):
            index, start = attribute(override, "ilvl"), value(override, "{*}startOverride")
            for level in override.iterchildren("{*}lvl"):
                levels.update([_level(level)])
            if index.isdecimal() and start.isdecimal() and int(index) < _LEVELS:
                starts[int(index)] = int(start)
                if int(index) in levels:
                    levels[int(index)] = replace(levels[int(index)], start=int(start))
        yield number, _List(abstract=key, levels=levels, starts=starts)


def _level(element: Element) -> tuple[int, Level]:
    index, start, restart = attribute(element, "ilvl"), value(element, "{*}start"), value(element, "{*}lvlRestart")
    forms = list(element.iter("{*}numFmt"))
    form = attribute(forms[0], "val") if forms else "decimal"
    legal = element.find("{*}isLgl")
    fonts = element.find("{*}rPr/{*}rFonts")
    level = Level(
        start=int(start) if start.isdecimal() else 0,
        form=f"custom {attribute(forms[0], 'format')}" if form == "custom" else form,
        text=value(element, "{*}lvlText"),
        restarts_after=int(restart) if restart.isdecimal() else None,
        is_legal=legal is not None and is_on(legal),
        suffix=value(element, "{*}suff"),
        font=attribute(fonts, "ascii") if fonts is not None else "",
        style=value(element, "{*}pStyle"),
    )
    return int(index) if index.isdecimal() else 0, level


def _bullet(text: str, font: str) -> str:
    """Return "- " for an ordinary bullet, and a bullet with a meaning, such as a check mark, as it is."""
    sign = with_symbols(text, font).strip()
    return "- " if not sign or sign in _PLAIN_BULLETS or (sign == "§" and not font) else f"{sign} "


def written(number: int, form: str) -> str:
    """Return a number in one of the forms of ST_NumberFormat (17.18.59), in digits for rare ones."""
    if form.startswith("custom "):  # such as "001, 002, 003, ..."
        return f"{number:0{len(form[7:].partition(',')[0].strip())}}"
    writer = _FORMS.get(form)
    return writer(number) if writer and 0 < number < _MAX_NUMBER else "" if form == "none" else str(number)


def _roman(number: int) -> str:
    text = ""
    for amount, sign in _ROMAN:
        text += sign * (number // amount)
        number %= amount
    return text


def _letters(number: int) -> str:
    """Return a letter, doubled after z: aa, bb."""
    return chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)


def _ordinal(number: int) -> str:
    last = 0 if number % 100 in (11, 12, 13) else number % 10
    return str(number) + {1: "st", 2: "nd", 3: "rd"}.get(last, "th")


def _words(number: int) -> str:
    if number >= 1000:
        return str(number)
    hundreds, rest = divmod(number, 100)
    small = _ONES[rest] if rest < 20 else f"{_TENS[rest // 10]}-{_ONES[rest % 10]}".strip("-")
    return f"{_ONES[hundreds]} hundred {small}".strip() if hundreds else small


def _ordinal_words(number: int) -> str:
    before, hyphen, last = _words(number).rpartition("-")
    ordinal = _ORDINALS.get(last, f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    return f"{before}{hyphen}{ordinal}".capitalize()


def _chinese(number: int) -> str:
    if number >= 100:
        return "".join(_CHINESE[int(digit)] for digit in str(number))
    tens, ones = divmod(number, 10)
    return f"{_CHINESE[tens] if tens > 1 else ''}{'十' if tens else ''}{_CHINESE[ones] if ones or not tens else ''}"


_FORMS: dict[str, Callable[[int], str]] = {
    "none": lambda number: "",
    "upperRoman": lambda number: _roman(number).upper(),
    "lowerRoman": _roman,
    "upperLetter": lambda number: _letters(number).upper(),
    "lowerLetter": _letters,
    "decimalZero": lambda number: f"{number:02}",
    "ordinal": _ordinal,
    "cardinalText": lambda number: _words(number).capitalize(),
    "ordinalText": _ordinal_words,
    "hex": lambda number: f"{number:X}",
    "numberInDash": lambda number: f"- {number} -",
    "decimalEnclosedCircle": lambda number: chr(0x245F + number) if number <= 20 else str(number),
    "decimalEnclosedParen": lambda number: f"({number})",
    "decimalEnclosedFullstop": lambda number: f"{number}.",
    "decimalFullWidth": lambda number: "".join(chr(0xFF10 + int(digit)) for digit in str(number)),
    "chicago": lambda number: "*†‡§"[(number - 1) % 4] * ((number - 1) // 4 + 1),
    "russianLower": lambda number: "абвгдежзиклмнопрстуфхцчшщэюя"[(number - 1) % 28],
    "russianUpper": lambda number: "АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЭЮЯ"[(number - 1) % 28],
    "chineseCounting": _chinese,
    "chineseCountingThousand": _chinese,
    "japaneseCounting": _chinese,
    "taiwaneseCountingThousand": _chinese,
}

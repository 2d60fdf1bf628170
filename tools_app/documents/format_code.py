"""The codes of number formats of spreadsheets (ISO 29500-1, 18.8.31): sections, and tokens in them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from locale import windows_locale

GENERAL = "General"
_BUILT_IN = {  # 18.8.30; 14 and 22 depend on the locale
    **dict(enumerate([GENERAL, "0", "0.00", "#,##0", "#,##0.00"])),
    **dict(enumerate(['"$"#,##0_);("$"#,##0)', '"$"#,##0_);[Red]("$"#,##0)', '"$"#,##0.00_);("$"#,##0.00)'], 5)),
    **dict(enumerate(['"$"#,##0.00_);[Red]("$"#,##0.00)', "0%", "0.00%", "0.00E+00", "# ?/?", "# ??/??"], 8)),
    **dict(enumerate(["yyyy-mm-dd", "d-mmm-yy", "d-mmm", "mmm-yy", "h:mm AM/PM", "h:mm:ss AM/PM", "h:mm"], 14)),
    **dict(enumerate(["h:mm:ss", "yyyy-mm-dd hh:mm"], 21)),
    **dict.fromkeys(range(27, 37), "yyyy-mm-dd"),
    **dict.fromkeys(range(50, 59), "yyyy-mm-dd"),
    **dict(enumerate(["#,##0_);(#,##0)", "#,##0_);[Red](#,##0)", "#,##0.00_);(#,##0.00)"], 37)),
    **dict(enumerate(["#,##0.00_);[Red](#,##0.00)", '_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)'], 40)),
    **dict(enumerate(['_("$"* #,##0_);_("$"* (#,##0);_("$"* "-"_);_(@_)'], 42)),
    **dict(enumerate(['_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)'], 43)),
    **dict(enumerate(['_("$"* #,##0.00_);_("$"* (#,##0.00);_("$"* "-"??_);_(@_)', "mm:ss", "[h]:mm:ss"], 44)),
    **dict(enumerate(["mm:ss.0", "##0.0E+0", "@"], 47)),
}
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*+)"?|\\(?P<escaped>.)|_(?P<space>.?)|\*(?P<fill>.?)|\[(?P<bracket>[^\]]*+)\]?'
    r"|(?P<general>General)|(?P<noon>AM/PM|A/P)|(?P<exponent>E[+-])|(?P<date>y+|m+|d+|h+|s+|e+|b+|g+)"
    r"|(?P<digit>[0#?])|(?P<sign>[.,%/@;])|(?P<literal>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*+(-?\d++(?:\.\d++)?)")
_ELAPSED = re.compile("h+|m+|s+", re.IGNORECASE)
_CURRENCY = re.compile(r"\$([^-]*+)(?:-(.*+))?", re.DOTALL)
_USUAL_DIGITS = re.compile(r"(?:#,##)?0(?:\.(?P<decimals>0{1,30}))?")


@dataclass(frozen=True, kw_only=True)
class Token:
    kind: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of a code. `condition` is an operator and a limit, `locale` the code of a language, such as "de_DE"."""

    tokens: tuple[Token, ...]
    condition: tuple[str, float] | None = None
    locale: str = "en_US"

    def has(self, *kinds: str) -> bool:
        return any(token.kind in kinds for token in self.tokens)

    @cached_property
    def is_date(self) -> bool:
        return self.has("date", "elapsed", "noon")

    @cached_property
    def factor(self) -> int:
        """100 for each percent sign."""
        factor: int = 100 ** sum(token.kind == "%" for token in self.tokens)
        return factor

    @cached_property
    def usual_form(self) -> tuple[str, str, str, int] | None:
        """The prefix, style of Python's format, suffix and decimals of a usual code, such as `#,##0.00 "€"`.

        With it, a number takes a tenth of the time.
        """
        places = [place for place, token in enumerate(self.tokens) if token.kind == "digit"]
        if not places or self.has("exponent", "/"):
            return None
        prefix, suffix = self.tokens[: places[0]], self.tokens[places[-1] + 1 :]
        digits = "".join(token.text for token in self.tokens[places[0] : places[-1] + 1])
        found = _USUAL_DIGITS.fullmatch(digits)
        if not found or any(token.kind in (",", ".") for token in (*prefix, *suffix)):
            return None
        style = ",f" if "," in digits else "f"
        return "".join(map(literal, prefix)), style, "".join(map(literal, suffix)), len(found["decimals"] or "")


def built_in(number: int) -> str:
    """Return the code of a built-in format, or General."""
    return _BUILT_IN.get(number, GENERAL)


@lru_cache(maxsize=1000)
def sections_of(code: str) -> Sequence[Section]:
    """Return the sections of a code."""
    sections: list[Section] = []
    tokens: list[Token] = []
    condition, locale = None, "en_US"
    for match in _TOKEN.finditer(code[:1000]):
        kind, text = match.lastgroup or "", match[match.lastgroup or 0]
        if kind == "bracket":
            if found := _CONDITION.fullmatch(text):
                condition = (found[1], float(found[2]))
            elif _ELAPSED.fullmatch(text):
                tokens.append(Token(kind="elapsed", text=text.lower()))
            elif found := _CURRENCY.fullmatch(text):
                tokens += [Token(kind="literal", text=found[1])] if found[1] else []
                locale = _locale(found[2] or "") or locale
        elif kind == "sign" and text == ";":
            sections.append(Section(tokens=_with_minutes(tokens), condition=condition, locale=locale))
            tokens, condition, locale = [], None, "en_US"
        elif kind == "space":
            tokens.append(Token(kind="literal", text=" "))
        elif kind in ("quoted", "escaped", "literal"):
            tokens.append(Token(kind="literal", text=text))
        elif kind != "fill":
            tokens.append(Token(kind=text if kind == "sign" else kind, text=text))
    return [*sections, Section(tokens=_with_minutes(tokens), condition=condition, locale=locale)]


def _locale(text: str) -> str:
    """Return the language of a code such as 407 or de-DE (18.8.31), or ""."""
    try:
        return windows_locale.get(int(text, 16) & 0xFFFF, "")
    except ValueError:
        return text.partition(",")[0].replace("-", "_") if re.fullmatch(r"[a-z]{2}-[A-Z]{2}(?:,.*+)?", text) else ""


def _with_minutes(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Return the tokens with `m` as minutes after hours and before seconds."""
    out = list(tokens)
    places = [place for place, token in enumerate(out) if token.kind in ("date", "elapsed")]
    for index, place in enumerate(places):
        if out[place].kind != "date" or out[place].text[0] not in "mM" or len(out[place].text) > 2:
            continue
        before = out[places[index - 1]].text[0].lower() if index else ""
        after = out[places[index + 1]].text[0].lower() if index + 1 < len(places) else ""
        if before == "h" or after == "s":
            out[place] = Token(kind="date", text="n" * len(out[place].text))
    return tuple(out)


def literal(token: Token) -> str:
    """Return what a token shows for any number."""
    return token.text if token.kind in ("literal", "%", ".", ",", "/") else ""

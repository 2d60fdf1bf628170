"""Number formats of spreadsheets: a code such as `#,##0.00 [$€-407]` and a number give the text that Excel shows.

Separators are those of English. Dates in the format of the reader's locale are ISO dates, since the locale is unknown.
"""

import re
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from tools_app.documents.format_code import GENERAL, Section, Token, built_in, literal, sections_of

__all__ = ["GENERAL", "built_in", "general", "is_date", "shown", "shown_text"]
_LAST_SERIAL = 2958466  # the day after 9999-12-31
_DIGITS = 15  # significant digits of a number in Excel
_DAY = 86_400  # seconds
_NEGLIGIBLE = Fraction(5, 10**8)  # in fractions
_MAX_DECIMALS = 30  # as in Excel
_CONTEXT = Context(prec=400, rounding=ROUND_HALF_UP)


def is_date(code: str) -> bool:
    """Return whether numbers in this format are shown as dates or times."""
    return sections_of(code)[0].is_date


def shown(code: str, value: float, *, since_1904: bool = False) -> str:
    """Return a number as it is shown. A number that its format hides is followed by a remark."""
    sections = sections_of(code)
    if len(sections) > 1 and sections[-1].has("@"):
        sections = sections[:-1]
    section, has_sign = _chosen(sections[:3], value)
    if section.is_date:
        text = _date(section, value, since_1904)
    elif section.has("general", "@"):
        text = "".join(general(value) if token.kind in ("general", "@") else literal(token) for token in section.tokens)
    else:
        text = _number(section, value if has_sign else abs(value))
    return text.strip() or (f"{general(value)} (hidden by its format)" if value else "")


def shown_text(code: str, text: str) -> str:
    """Return a text as it is shown."""
    sections = sections_of(code)
    section = sections[3] if len(sections) > 3 else sections[-1]
    if not section.has("@"):
        return f"{text} (hidden by its format)" if len(sections) > 3 and not section.tokens else text
    return "".join(text if token.kind == "@" else literal(token) for token in section.tokens)


def general(value: float) -> str:
    """Return a number with up to 15 digits, and all digits of an integer."""
    if isinstance(value, int) and abs(value) < 10**21:
        return str(value)
    if "e" not in (text := f"{value:.{_DIGITS}g}"):
        return text
    number = _decimal(value).normalize()
    if number and not -9 <= number.adjusted() < 21:
        mantissa, _, exponent = f"{number:E}".partition("E")
        return f"{mantissa}E{int(exponent):+03d}"
    return f"{number:f}"


def _decimal(value: float) -> Decimal:
    return Decimal(value) if isinstance(value, int) else Decimal(f"{value:.{_DIGITS}g}")


def _chosen(sections: Sequence[Section], value: float) -> tuple[Section, bool]:
    """Return the section for a number, and whether a negative number keeps its sign there."""
    if not any(section.condition for section in sections):
        if value < 0 and len(sections) > 1:
            return sections[1], False
        return sections[2 if value == 0 and len(sections) > 2 else 0], True
    for position, section in enumerate(sections):
        operator, limit = section.condition or ((">", 0.0) if position == 0 else ("<", 0.0))
        is_last = position == len(sections) - 1
        if (is_last and not section.condition) or _holds(value, operator, limit):
            return section, bool(section.condition) or position != 1 or is_last
    return Section(tokens=(Token(kind="general", text=""),)), True


def _holds(value: float, operator: str, limit: float) -> bool:
    outcomes = {"<": value < limit, ">": value > limit, "=": value == limit}
    return not outcomes["="] if operator == "<>" else any(outcomes[sign] for sign in operator)


def _number(section: Section, value: float) -> str:
    tokens = section.tokens
    number = abs(_decimal(value)) * section.factor
    if usual := section.usual_form:
        prefix, style, suffix, digits = usual
        return f"{'-' * (value < 0)}{prefix}{_rounded(number, digits):{style}}{suffix}"
    sign = "-" if value < 0 else ""
    if section.has("/") and section.has("digit"):
        return sign + _fraction(tokens, number)
    places = [place for place, token in enumerate(tokens) if token.kind == "digit"]
    if not places:
        return sign + "".join(map(literal, tokens))
    point = next((place for place, token in enumerate(tokens) if token.kind == "."), len(tokens))
    exponent = next((place for place, token in enumerate(tokens) if token.kind == "exponent"), len(tokens))
    whole = [place for place in places if place < min(point, exponent)]
    decimals = [place for place in places if point < place < exponent][:_MAX_DECIMALS]
    power = 0
    if exponent < len(tokens):
        number, power = _mantissa(number, max(1, len(whole)), len(decimals))
    last = whole[-1] if whole else point
    for end in {last, decimals[-1] if decimals else last}:  # commas after the last digit divide by 1,000 each
        for token in tokens[end + 1 :]:
            if token.kind != ",":
                break
            number /= 1000
    rounded = _rounded(number, len(decimals))
    before, _, after = f"{rounded:f}".partition(".")
    is_grouped = any(tokens[place].kind == "," for place in range(whole[0], last)) if whole else False
    texts = _whole(tokens, whole, before, is_grouped) | _decimals(tokens, decimals, after)
    exponents = [place for place in places if place > exponent]
    if exponents:
        mark = "-" if power < 0 else "+" if tokens[exponent].text.endswith("+") else ""
        texts[exponent] = f"E{mark}{'' if whole or decimals else before}"
        texts |= dict.fromkeys(exponents, "") | {exponents[0]: f"{abs(power):0{len(exponents)}d}"}
    if not whole and point < len(tokens):
        texts[point] = f"{before.lstrip('0')}."
    parts = ("" if token.kind == "," else literal(token) for token in tokens)
    return sign + "".join(texts.get(place, part) for place, part in enumerate(parts))


def _rounded(number: Decimal, decimals: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-decimals), context=_CONTEXT)


def _mantissa(number: Decimal, digits: int, decimals: int) -> tuple[Decimal, int]:
    """Return the mantissa with up to so many digits before the point, and its power of ten, a multiple of them."""
    power = number.adjusted() if number else 0
    power -= power % digits
    mantissa = number.scaleb(-power)
    if _rounded(mantissa, decimals) >= 10**digits:
        return mantissa.scaleb(-digits), power + digits
    return mantissa, power


def _whole(tokens: Sequence[Token], places: Sequence[int], digits: str, is_grouped: bool) -> dict[int, str]:
    """Return the text at each place before the point. The first place has all digits that are left."""
    texts: dict[int, str] = {}
    rest, written = digits.lstrip("0"), 0
    for place in reversed(places):
        is_first = place == places[0]
        digit = "" if not rest and tokens[place].text != "0" else (rest or "0")
        taken = digit if is_first else digit[-1:]
        rest = "" if is_first else rest[:-1]
        text = ""
        for character in reversed(taken):
            text = ("," if is_grouped and written and written % 3 == 0 else "") + text
            text = character + text
            written += 1
        texts[place] = text
    return texts


def _decimals(tokens: Sequence[Token], places: Sequence[int], digits: str) -> dict[int, str]:
    texts: dict[int, str] = {}
    is_end = True
    for place, digit in zip(reversed(places), reversed(digits), strict=False):
        is_end = is_end and digit == "0" and tokens[place].text != "0"
        texts[place] = "" if is_end else digit
    return texts


def _fraction(tokens: Sequence[Token], number: Decimal) -> str:
    """Return a number as a fraction, with a whole number before it if the code has one."""
    code = "".join(token.text if token.kind in ("digit", "/", "literal") else "" for token in tokens)
    found = re.search(
        r"(?<![#0?])(?:(?P<whole>[#0?]++)[^#0?/]++)?(?P<top>[#0?]++)\s*+/\s*+(?P<bottom>[#0?]++|\d++)", code
    )
    if not found:
        return f"{number:f}"
    whole = int(number) if found["whole"] else 0
    rest = Fraction(number) - whole
    if found["bottom"].isdecimal() and int(found["bottom"]):
        bottom = int(found["bottom"])
        top = int(rest * bottom + Fraction(1, 2))
    else:
        top, bottom = _convergent(rest, 10 ** min(len(found["bottom"]), 7) - 1)
    if found["whole"] and top == bottom:
        whole, top = whole + 1, 0
    text = f"{top}/{bottom}" if top or not found["whole"] else ""
    text = " ".join(filter(None, [str(whole) if whole or not text else "", text]))
    return code[: found.start()] + text + code[found.end() :]


def _convergent(value: Fraction, most: int) -> tuple[int, int]:
    """Return the last convergent of a continued fraction with a denominator up to `most`, as Excel does."""
    (top_before, bottom_before), (top, bottom) = (0, 1), (1, 0)
    while True:
        whole = value.numerator // value.denominator
        next_top, next_bottom = whole * top + top_before, whole * bottom + bottom_before
        if next_bottom > most:
            return top, bottom
        top_before, bottom_before, top, bottom = top, bottom, next_top, next_bottom
        value -= whole
        if value < _NEGLIGIBLE:
            return top, bottom
        value = 1 / value


def _date(section: Section, value: float, since_1904: bool) -> str:
    """Return a date or time, or the number if it is no date."""
    tokens = section.tokens
    fractions = _fraction_digits(tokens)
    units = 10**fractions
    total = int(Decimal(abs(value)) * _DAY * units + Decimal("0.5"))  # in parts of a second
    seconds, part = divmod(total, units)
    is_elapsed = section.has("elapsed")
    if (value < 0 or value >= _LAST_SERIAL) and not (is_elapsed and abs(value) < _LAST_SERIAL):
        return general(value)
    year, month, day, weekday = _calendar_day(seconds // _DAY, since_1904)
    has_noon, names = section.has("noon"), section.locale
    hour = seconds // 3600 % 24
    texts: list[str] = []
    is_fraction = False
    for place, token in enumerate(tokens):
        letter, count = token.text[:1].lower(), len(token.text)
        if token.kind == "elapsed":
            amount = seconds // {"h": 3600, "m": 60, "s": 1}[letter]
            texts.append(f"{amount:0{count}d}")
        elif token.kind == "noon":
            texts.append(("AM" if hour < 12 else "PM")[: 2 if count > 3 else 1])
        elif token.kind == "date" and letter in "hns":
            amount = {"h": hour % 12 or 12 if has_noon else hour, "n": seconds // 60 % 60, "s": seconds % 60}[letter]
            texts.append(f"{amount:0{min(count, 2)}d}")
        elif token.kind == "date":
            texts.append(_day_text(letter, count, year, month, day, weekday, names))
        elif token.kind == "." and place + 1 < len(tokens) and tokens[place + 1].kind == "digit" and fractions:
            texts.append(f".{part:0{fractions}d}")
            is_fraction = True
        elif token.kind != "digit" or not is_fraction:
            texts.append(literal(token) or (token.text if token.kind == "digit" else ""))
    return ("-" if value < 0 else "") + "".join(texts)


def _fraction_digits(tokens: Sequence[Token]) -> int:
    """Return how many digits of a second's fraction a format shows."""
    point = next((place for place, token in enumerate(tokens) if token.kind == "."), len(tokens))
    return min(3, sum(token.kind == "digit" for token in tokens[point:]))


def _calendar_day(serial: int, since_1904: bool) -> tuple[int, int, int, int]:
    """Return year, month, day and weekday of a day. Excel has a 29th of February 1900, and a day before the first."""
    if since_1904:
        found = date(1904, 1, 1) + timedelta(days=min(serial, _LAST_SERIAL - 1463))
    elif serial in (0, 60):
        return (1900, 1, 0, 5) if serial == 0 else (1900, 2, 29, 2)
    else:
        found = date(1899, 12, 30 if serial > 60 else 31) + timedelta(days=serial)
    return found.year, found.month, found.day, found.weekday()


def _day_text(letter: str, count: int, year: int, month: int, day: int, weekday: int, locale: str) -> str:
    if letter in "ye":
        return f"{year % 100:02d}" if letter == "y" and count < 3 else f"{year:04d}"
    if letter == "b":
        return f"{(year + 543) % 100:02d}" if count < 3 else str(year + 543)
    if letter == "m" and count > 2:
        name = _names("month", "abbreviated" if count == 3 else "wide", locale)[month]
        return name[:1] if count == 5 else name
    if letter == "d" and count > 2:
        return _names("day", "abbreviated" if count == 3 else "wide", locale)[weekday]
    if letter == "g":
        return ""
    return f"{month if letter == 'm' else day:0{count}d}"


@lru_cache(maxsize=100)
def _names(unit: str, width: str, locale: str) -> dict[int, str]:
    """Return the names of months, from 1, or of weekdays, from 0 for Monday."""
    from babel import Locale, UnknownLocaleError

    try:
        language = Locale.parse(locale)
    except (UnknownLocaleError, ValueError):
        language = Locale.parse("en_US")
    names = language.months if unit == "month" else language.days
    return {number: name.rstrip(".") for number, name in names["format"][width].items()}

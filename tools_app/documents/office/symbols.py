"""Characters of symbol fonts as Unicode. Such fonts have pictures at the codes of letters, or at U+F000 and above."""

_FIRST_PRIVATE, _LAST_PRIVATE = 0xF000, 0xF0FF
# Adobe's Symbol encoding: codes 0x20 to 0x7E, then 0xA0 to 0xFE.
_SYMBOL = dict(
    zip(
        [*range(0x20, 0x7F), *range(0xA0, 0xFF)],
        " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
        "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ 〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
        strict=True,
    )
)
_WINGDINGS = {
    0x20: " ", 0x21: "✏", 0x22: "✂", 0x28: "☎", 0x2A: "✉", 0x36: "⌛", 0x41: "✌", 0x43: "👍", 0x44: "👎", 0x45: "☜",
    0x46: "☞", 0x47: "☝", 0x48: "☟", 0x4A: "☺", 0x4B: "😐", 0x4C: "☹", 0x4E: "☠", 0x52: "☼", 0x54: "❄", 0x56: "✞",
    0x58: "✠", 0x59: "✡", 0x6C: "●", 0x6D: "❍", 0x6E: "■", 0x6F: "□", 0x70: "◻", 0x71: "❑", 0x72: "❒", 0x73: "⬧",
    0x74: "⧫", 0x75: "◆", 0x76: "❖", 0x77: "⬥", 0x78: "⌧", 0x80: "⓪", 0x8B: "⓿", 0x9E: "·", 0x9F: "•", 0xA0: "▪",
    0xA1: "○", 0xA4: "◉", 0xA7: "▪", 0xA8: "☐", 0xAB: "★", 0xB1: "⌖", 0xD5: "⌫", 0xD8: "➢", 0xDF: "←", 0xE0: "→",
    0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xEF: "⇦", 0xF0: "⇨", 0xF1: "⇧", 0xF2: "⇩", 0xF3: "⬄", 0xF4: "⇳", 0xFB: "✗",
    0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
    **{0x81 + index: chr(0x2460 + index) for index in range(10)},  # numbers in circles
    **{0x8C + index: chr(0x2776 + index) for index in range(10)},
}  # fmt: skip
_FONTS: dict[str, dict[int, str]] = {
    "symbol": _SYMBOL,
    "wingdings": _WINGDINGS,
    "wingdings 2": {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0x97: "●",
                    0x99: "○", 0xA2: "■", 0xA3: "☐"},
    "wingdings 3": {0x22: "↔", 0x66: "←", 0x67: "→", 0x68: "↑", 0x69: "↓", 0x70: "▲", 0x71: "▼", 0x75: "▶", 0x7D: "▶"},
    "webdings": {0x61: "✓", 0x63: "☐", 0x67: "■", 0x6E: "●", 0x72: "✗"},
    "zapf dingbats": {0x33: "✓", 0x34: "✔", 0x38: "✘", 0x6C: "●", 0x6E: "■"},
}  # fmt: skip


def symbol(font: str, code: int) -> str:
    """Return the character of a symbol font, or a mark with font and code for an unknown one."""
    characters, byte = _FONTS.get(font.lower(), {}), code & 0xFF if _is_private(code) else code
    if byte in characters:
        return characters[byte]
    if not characters and not _is_private(code):
        return chr(code) if code < 0x110000 else ""
    return f"[symbol {font} {code:04X}]"


def with_symbols(text: str, font: str, *, has_letters: bool = False) -> str:
    """Return the text of a run in this font, with its symbols as Unicode.

    With `has_letters`, letters stay: Office also notes a symbol font for text that follows a symbol.
    """
    characters = _FONTS.get(font.lower())
    if characters is None:
        return text
    return "".join(
        characters.get(ord(sign) & 0xFF, sign)
        if _is_private(ord(sign))
        else sign
        if has_letters
        else characters.get(ord(sign), sign)
        for sign in text
    )


def _is_private(code: int) -> bool:
    return _FIRST_PRIVATE <= code <= _LAST_PRIVATE

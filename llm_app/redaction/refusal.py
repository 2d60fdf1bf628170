"""Rejection of values that cannot be kept secret, because redacting them would redact ordinary text as well."""

MIN_LENGTH = 8  # characters
MAX_LENGTH = 16_384  # characters
MAX_LINES = 200
_LONGEST_WORD = 11  # characters; "password", "development": longer words rarely occur by chance
_LONGEST_NUMBER = 9  # digits of dates, amounts and ids
_MIN_DIFFERENT = 4  # characters


def rejection_reason(value: str, ordinary: str = "") -> str:
    """Return a sentence with the reason and a remedy; empty if the value can be redacted.

    `ordinary` is text that must never be redacted: the server's own prompt and tools.
    """
    value = value.strip()
    if len(value) < MIN_LENGTH:
        return f"A value under {MIN_LENGTH} characters cannot be kept secret: ordinary words would be redacted as well."
    if len(value) > MAX_LENGTH or value.count("\n") >= MAX_LINES:
        return f"A secret has at most {MAX_LENGTH:,} characters and {MAX_LINES} lines. Keep longer things in a file."
    if len(set(value)) < _MIN_DIFFERENT:
        return "The value has too few different characters: ordinary text would be redacted as well."
    is_word = value.isalpha() and (value.islower() or value.isupper() or value.istitle())
    is_short_number = value.isdecimal() and len(value) <= _LONGEST_NUMBER
    if (is_word and len(value) <= _LONGEST_WORD) or is_short_number:
        return "The value is an ordinary word or a short number: other text would be redacted as well."
    if value in ordinary:
        return "The value occurs in this server's own texts for the model, so it cannot be kept secret."
    return ""


def is_too_plain(value: str) -> bool:
    return bool(rejection_reason(value))

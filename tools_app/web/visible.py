"""What of a text from the web a person would see."""

import re

# What no reader sees and no database takes: control characters, lone surrogates, and invisible characters that can
# carry hidden words (zero-width, direction marks, tags).
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text without what is invisible in it, its lines ending in a line feed."""
    return _INVISIBLE.sub("", text.replace("\r\n", "\n"))

"""Untrusted text from the web: without invisible characters, and marked as data between tags that it cannot forge."""

import re

PAGE, RESULTS = "web_page", "search_results"
_TAG = re.compile(rf"<(?=\s*/?\s*({PAGE}|{RESULTS}))", re.IGNORECASE)

# What readers do not see or databases do not store: control characters, lone surrogates, and invisible characters that
# can carry hidden words (zero-width, direction marks, tags).
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def enclose(url: str, text: str) -> str:
    """`text` between <web_page url="…"> and </web_page>; such tags within it are escaped."""
    address = url.replace('"', "%22").replace("<", "%3C").replace(">", "%3E")
    return f'<{PAGE} url="{address}">\n{_without_tags(text)}\n</{PAGE}>'


def enclose_results(text: str) -> str:
    """The same between <search_results> and </search_results>."""
    return f"<{RESULTS}>\n{_without_tags(text)}\n</{RESULTS}>"


def _without_tags(text: str) -> str:
    return _TAG.sub("&lt;", text)


def visible(text: str) -> str:
    """The text without what is invisible in it, its lines ending in a line feed."""
    return _INVISIBLE.sub("", text.replace("\r\n", "\n"))

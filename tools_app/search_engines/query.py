"""A search and its results, independent of any engine."""

import html
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal

from tools_app.documents.document import visible

SearchType = Literal["info", "news", "research", "api", "data", "image", "tool"]
QueryPart = Literal["type", "site"]
_TYPE_WORDS = {
    "news": "news",
    "research": "research paper",
    "api": "API documentation",
    "data": "dataset",
    "tool": "software tool",
}
_SPAN_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}  # days
_MARKUP = re.compile(r"</?[a-z][^<>]{0,200}>", re.IGNORECASE)
_MAX_TITLE, _MAX_SUMMARY, _MAX_URL = 200, 500, 2_000  # characters


@dataclass(frozen=True, kw_only=True)
class SearchQuery:
    """A search. Results must not be older than `since`, and must be from the host `site`."""

    type: SearchType
    words: str
    count: int
    site: str = ""
    since: date | None = None

    def search_text(self, *parts: QueryPart) -> str:
        """Return the search words, with the parts for which the engine has no parameter in words."""
        terms = [self.words]
        if "type" in parts and self.type in _TYPE_WORDS:
            terms.append(_TYPE_WORDS[self.type])
        if "site" in parts and self.site:
            terms.append(f"site:{self.site}")
        return " ".join(terms)

    @property
    def span(self) -> str:
        """Return the shortest of day, week, month and year that reaches back to `since`, or ""."""
        if self.since is None:
            return ""
        age = (today() - self.since).days
        return next((name for name, days in _SPAN_DAYS.items() if age <= days), "")


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """One result. `image` is the address of a picture, in searches for images."""

    title: str
    url: str
    summary: str = ""
    date: str = ""
    image: str = ""


def result_of(
    *, title: object, url: object, summary: object = "", date: object = "", image: object = ""
) -> SearchResult | None:
    """Return an engine's result without markup and with bounded fields, or None if it has no web address."""
    address = _text(url, _MAX_URL).replace(" ", "%20")
    if not address.startswith(("http://", "https://")):
        return None
    return SearchResult(
        title=_text(title, _MAX_TITLE),
        url=address,
        summary=_text(summary, _MAX_SUMMARY),
        date=_text(date, 40).partition("T")[0],
        image=_text(image, _MAX_URL),
    )


def today() -> date:
    return datetime.now(UTC).date()


def _text(value: object, max_length: int) -> str:
    """Return the value as one line of plain text."""
    if not isinstance(value, str):
        return ""
    text = " ".join(visible(html.unescape(_MARKUP.sub("", value[: 4 * max_length]))).split())
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"

"""Exa. docs.exa.ai, "Search"."""

from collections.abc import Iterator
from typing import Any

from tools_app.network.fetch import Outgoing
from tools_app.search_engines.base import Adapter, SearchFailed, items
from tools_app.search_engines.query import Found, Query, found

_CATEGORIES = {"news": "news", "research": "research paper"}
_EXCERPT = 500  # characters of each page


class Exa(Adapter):
    kind = "exa"
    base_url = "https://api.exa.ai"

    def request(self, query: Query, base_url: str, key: str) -> Outgoing:
        if query.type == "image":
            raise SearchFailed("it does not search for images")
        category = _CATEGORIES.get(query.type)
        body: dict[str, Any] = {
            "query": query.words if category else query.saying("type"),
            "numResults": query.count,
            "contents": {"text": {"maxCharacters": _EXCERPT}},
        }
        if category:
            body["category"] = category
        if query.site:
            body["includeDomains"] = [query.site]
        if query.since:
            body["startPublishedDate"] = f"{query.since}T00:00:00.000Z"
        return Outgoing(url=f"{base_url}/search", method="POST", json=body, headers={"x-api-key": key})

    def found(self, answer: Any) -> Iterator[Found | None]:
        for item in items(answer, "results"):
            published = item.get("publishedDate")
            yield found(title=item.get("title"), url=item.get("url"), summary=item.get("text"), date=published)

"""SearXNG, on a server of one's own. docs.searxng.org, "Search API"; `json` must be among its formats."""

from collections.abc import Iterator
from typing import Any

from tools_app.network.fetch import Outgoing
from tools_app.search_engines.base import Adapter, SearchFailed, items
from tools_app.search_engines.query import Found, Query, found

_CATEGORIES = {"news": "news", "research": "science", "image": "images", "api": "it", "tool": "it"}


class SearXNG(Adapter):
    kind = "searxng"
    needs_key = False

    def request(self, query: Query, base_url: str, key: str) -> Outgoing:
        if not base_url:
            raise SearchFailed("its address is not set")
        params = {
            "q": query.saying("site") if query.type in _CATEGORIES else query.saying("type", "site"),
            "format": "json",
            "categories": _CATEGORIES.get(query.type, "general"),
        } | ({"time_range": query.span} if query.span else {})
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return Outgoing(url=f"{base_url}/search", params=params, headers=headers)

    def found(self, answer: Any) -> Iterator[Found | None]:
        for item in items(answer, "results"):
            yield found(
                title=item.get("title"),
                url=item.get("url"),
                summary=item.get("content"),
                date=item.get("publishedDate"),
                image=item.get("img_src"),
            )

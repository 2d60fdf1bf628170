"""Brave. api-dashboard.search.brave.com, "Web search", "News search", "Image search"."""

from collections.abc import Iterator
from typing import Any

from tools_app.network.fetch import Outgoing
from tools_app.search_engines.base import Adapter, items
from tools_app.search_engines.query import Found, Query, found, today

_OWN = {"news": "news", "image": "images"}


class Brave(Adapter):
    kind = "brave"
    base_url = "https://api.search.brave.com"

    def request(self, query: Query, base_url: str, key: str) -> Outgoing:
        words = query.saying("site") if query.type in _OWN else query.saying("type", "site")
        params = {"q": words, "count": str(query.count)}
        if query.since and query.type != "image":
            params["freshness"] = f"{query.since}to{today()}"
        return Outgoing(
            url=f"{base_url}/res/v1/{_OWN.get(query.type, 'web')}/search",
            params=params,
            headers={"X-Subscription-Token": key, "Accept": "application/json"},
        )

    def found(self, answer: Any) -> Iterator[Found | None]:
        for item in items(answer, "web", "results") or items(answer, "results"):
            picture = item.get("properties")
            yield found(
                title=item.get("title"),
                url=item.get("url"),
                summary=item.get("description"),
                date=item.get("page_age") or item.get("age"),
                image=picture.get("url") if isinstance(picture, dict) else "",
            )

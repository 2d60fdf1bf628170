"""Tavily. docs.tavily.com, "Tavily Search"."""

from collections.abc import Iterator
from typing import Any

from tools_app.network.fetch import Outgoing
from tools_app.search_engines.base import Adapter, items
from tools_app.search_engines.query import Found, Query, found


class Tavily(Adapter):
    kind = "tavily"
    base_url = "https://api.tavily.com"

    def request(self, query: Query, base_url: str, key: str) -> Outgoing:
        is_image = query.type == "image"
        body = {
            "query": query.words if query.type == "news" else query.saying("type"),
            "topic": "news" if query.type == "news" else "general",
            "max_results": query.count,
            "include_domains": [query.site] if query.site else [],
            "include_images": is_image,
            "include_image_descriptions": is_image,
        } | ({"start_date": query.since.isoformat()} if query.since else {})
        return Outgoing(url=f"{base_url}/search", method="POST", json=body, headers={"Authorization": f"Bearer {key}"})

    def found(self, answer: Any) -> Iterator[Found | None]:
        for item in items(answer, "images"):
            address = item.get("url")
            yield found(title=item.get("description"), url=address, image=address)
        for item in items(answer, "results"):
            published = item.get("published_date")
            yield found(title=item.get("title"), url=item.get("url"), summary=item.get("content"), date=published)

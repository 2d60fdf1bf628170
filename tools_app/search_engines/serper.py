"""Serper, which asks Google. serper.dev, "Playground"."""

from collections.abc import Iterator
from typing import Any

from tools_app.network.fetch import Outgoing
from tools_app.search_engines.base import Adapter, items
from tools_app.search_engines.query import Found, Query, found, today

_OWN = {"news": "news", "image": "images", "research": "scholar"}
_LISTS = ("organic", "news", "images")


class Serper(Adapter):
    kind = "serper"
    base_url = "https://google.serper.dev"

    def request(self, query: Query, base_url: str, key: str) -> Outgoing:
        words = query.saying("site") if query.type in _OWN else query.saying("type", "site")
        body: dict[str, Any] = {"q": words, "num": query.count}
        if query.since:
            body["tbs"] = f"cdr:1,cd_min:{query.since:%m/%d/%Y},cd_max:{today():%m/%d/%Y}"
        url = f"{base_url}/{_OWN.get(query.type, 'search')}"
        return Outgoing(url=url, method="POST", json=body, headers={"X-API-KEY": key})

    def found(self, answer: Any) -> Iterator[Found | None]:
        for item in (item for name in _LISTS for item in items(answer, name)):
            yield found(
                title=item.get("title"),
                url=item.get("link"),
                summary=item.get("snippet") or item.get("source"),
                date=item.get("date") or str(item.get("year", "")),
                image=item.get("imageUrl") if "imageWidth" in item else "",
            )

"""Bocha, with sources in Chinese above all. open.bochaai.com, "Web Search API"."""

from collections.abc import Iterator
from typing import Any

from tools_app.network.fetch import Outgoing
from tools_app.search_engines.base import Adapter, SearchFailed, items
from tools_app.search_engines.query import Found, Query, found, today


class Bocha(Adapter):
    kind = "bocha"
    base_url = "https://api.bochaai.com"

    def request(self, query: Query, base_url: str, key: str) -> Outgoing:
        body = {
            "query": query.saying("type"),
            "count": query.count,
            "summary": True,
            "freshness": f"{query.since}..{today()}" if query.since else "noLimit",
        } | ({"include": query.site} if query.site else {})
        url = f"{base_url}/v1/web-search"
        return Outgoing(url=url, method="POST", json=body, headers={"Authorization": f"Bearer {key}"})

    def found(self, answer: Any) -> Iterator[Found | None]:
        if not isinstance(answer, dict) or not isinstance(answer.get("data"), dict):
            raise SearchFailed("its answer has no data")  # faults come with the status 200 too
        for item in items(answer, "data", "webPages", "value"):
            words, date = item.get("summary") or item.get("snippet"), item.get("datePublished")
            yield found(title=item.get("name"), url=item.get("url"), summary=words, date=date)
        for item in items(answer, "data", "images", "value"):
            yield found(title=item.get("name"), url=item.get("hostPageUrl"), image=item.get("contentUrl"))

"""Public engines without a key, through the library ddgs. Its requests do not pass our guard (docs/security.md)."""

from collections.abc import Iterator
from typing import Any

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of
from tools_app.network.policy import NetworkPolicy
from tools_app.search_engines.base import Adapter, Engine, SearchFailed, items
from tools_app.search_engines.query import Found, Query, found

_LIBRARY = "tools_app.search_engines.ddgs_child"
_CATEGORIES = {"news": "news", "image": "images"}
_LIMITS = ChildLimits(wall_s=25, cpu_s=10)


class Ddgs(Adapter):
    kind = "ddgs"
    needs_key = False

    async def ask(self, query: Query, engine: Engine, policy: NetworkPolicy) -> list[Found]:
        category = _CATEGORIES.get(query.type, "text")
        words = query.saying("type", "site") if category == "text" else query.saying("site")
        request = {"category": category, "query": words, "timelimit": query.span[:1], "count": query.count}
        try:
            answer = await answer_of(_LIBRARY, request, limits=_LIMITS)
        except NoAnswer as error:
            raise SearchFailed("it took too long") from error
        if problem := answer.get("error"):
            raise SearchFailed("nothing came back" if "No results" in problem else "no engine could be reached")
        return [found for found in self.found(answer) if found]

    def found(self, answer: Any) -> Iterator[Found | None]:
        for item in items(answer, "results"):
            yield found(
                title=item.get("title"),
                url=item.get("href") or item.get("url"),
                summary=item.get("body"),
                date=item.get("date"),
                image=item.get("image") if "thumbnail" in item else "",
            )

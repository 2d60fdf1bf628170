"""The adapters of all kinds of search engines."""

from collections.abc import Iterator
from typing import Any

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of
from tools_app.contract import Engine
from tools_app.network import NetworkPolicy, OutgoingRequest
from tools_app.search_engines.base import SearchAdapter, SearchFailed, items
from tools_app.search_engines.query import SearchQuery, SearchResult, result_of, today

_BRAVE_PATHS = {"news": "news", "image": "images"}

_EXA_CATEGORIES = {"news": "news", "research": "research paper"}
_EXA_EXCERPT = 500  # characters of each page

_SERPER_PATHS = {"news": "news", "image": "images", "research": "scholar"}
_SERPER_LISTS = ("organic", "news", "images")

_SEARXNG_CATEGORIES = {"news": "news", "research": "science", "image": "images", "api": "it", "tool": "it"}

_DDGS_CHILD = "tools_app.search_engines.ddgs_child"
_DDGS_CATEGORIES = {"news": "news", "image": "images"}
_DDGS_LIMITS = ChildLimits(wall_s=25, cpu_s=10)


class Tavily(SearchAdapter):
    kind = "tavily"
    base_url = "https://api.tavily.com"

    def request(self, query: SearchQuery, base_url: str, key: str) -> OutgoingRequest:
        is_image = query.type == "image"
        body = {
            "query": query.words if query.type == "news" else query.search_text("type"),
            "topic": "news" if query.type == "news" else "general",
            "max_results": query.count,
            "include_domains": [query.site] if query.site else [],
            "include_images": is_image,
            "include_image_descriptions": is_image,
        } | ({"start_date": query.since.isoformat()} if query.since else {})
        return OutgoingRequest(
            url=f"{base_url}/search", method="POST", json=body, headers={"Authorization": f"Bearer {key}"}
        )

    def results(self, answer: Any) -> Iterator[SearchResult | None]:
        for item in items(answer, "images"):
            address = item.get("url")
            yield result_of(title=item.get("description"), url=address, image=address)
        for item in items(answer, "results"):
            published = item.get("published_date")
            yield result_of(title=item.get("title"), url=item.get("url"), summary=item.get("content"), date=published)


class Brave(SearchAdapter):
    kind = "brave"
    base_url = "https://api.search.brave.com"

    def request(self, query: SearchQuery, base_url: str, key: str) -> OutgoingRequest:
        words = query.search_text("site") if query.type in _BRAVE_PATHS else query.search_text("type", "site")
        params = {"q": words, "count": str(query.count)}
        if query.since and query.type != "image":
            params["freshness"] = f"{query.since}to{today()}"
        return OutgoingRequest(
            url=f"{base_url}/res/v1/{_BRAVE_PATHS.get(query.type, 'web')}/search",
            params=params,
            headers={"X-Subscription-Token": key, "Accept": "application/json"},
        )

    def results(self, answer: Any) -> Iterator[SearchResult | None]:
        for item in items(answer, "web", "results") or items(answer, "results"):
            picture = item.get("properties")
            yield result_of(
                title=item.get("title"),
                url=item.get("url"),
                summary=item.get("description"),
                date=item.get("page_age") or item.get("age"),
                image=picture.get("url") if isinstance(picture, dict) else "",
            )


class Exa(SearchAdapter):
    kind = "exa"
    base_url = "https://api.exa.ai"

    def request(self, query: SearchQuery, base_url: str, key: str) -> OutgoingRequest:
        if query.type == "image":
            raise SearchFailed("it does not search for images")
        category = _EXA_CATEGORIES.get(query.type)
        body: dict[str, Any] = {
            "query": query.words if category else query.search_text("type"),
            "numResults": query.count,
            "contents": {"text": {"maxCharacters": _EXA_EXCERPT}},
        }
        if category:
            body["category"] = category
        if query.site:
            body["includeDomains"] = [query.site]
        if query.since:
            body["startPublishedDate"] = f"{query.since}T00:00:00.000Z"
        return OutgoingRequest(url=f"{base_url}/search", method="POST", json=body, headers={"x-api-key": key})

    def results(self, answer: Any) -> Iterator[SearchResult | None]:
        for item in items(answer, "results"):
            published = item.get("publishedDate")
            yield result_of(title=item.get("title"), url=item.get("url"), summary=item.get("text"), date=published)


class Serper(SearchAdapter):
    kind = "serper"
    base_url = "https://google.serper.dev"

    def request(self, query: SearchQuery, base_url: str, key: str) -> OutgoingRequest:
        words = query.search_text("site") if query.type in _SERPER_PATHS else query.search_text("type", "site")
        body: dict[str, Any] = {"q": words, "num": query.count}
        if query.since:
            body["tbs"] = f"cdr:1,cd_min:{query.since:%m/%d/%Y},cd_max:{today():%m/%d/%Y}"
        url = f"{base_url}/{_SERPER_PATHS.get(query.type, 'search')}"
        return OutgoingRequest(url=url, method="POST", json=body, headers={"X-API-KEY": key})

    def results(self, answer: Any) -> Iterator[SearchResult | None]:
        for item in (item for name in _SERPER_LISTS for item in items(answer, name)):
            yield result_of(
                title=item.get("title"),
                url=item.get("link"),
                summary=item.get("snippet") or item.get("source"),
                date=item.get("date") or str(item.get("year", "")),
                image=item.get("imageUrl") if "imageWidth" in item else "",
            )


class Bocha(SearchAdapter):
    kind = "bocha"
    base_url = "https://api.bochaai.com"

    def request(self, query: SearchQuery, base_url: str, key: str) -> OutgoingRequest:
        body = {
            "query": query.search_text("type"),
            "count": query.count,
            "summary": True,
            "freshness": f"{query.since}..{today()}" if query.since else "noLimit",
        } | ({"include": query.site} if query.site else {})
        url = f"{base_url}/v1/web-search"
        return OutgoingRequest(url=url, method="POST", json=body, headers={"Authorization": f"Bearer {key}"})

    def results(self, answer: Any) -> Iterator[SearchResult | None]:
        if not isinstance(answer, dict) or not isinstance(answer.get("data"), dict):
            raise SearchFailed("its answer has no data")  # errors also have the status 200
        for item in items(answer, "data", "webPages", "value"):
            summary, date = item.get("summary") or item.get("snippet"), item.get("datePublished")
            yield result_of(title=item.get("name"), url=item.get("url"), summary=summary, date=date)
        for item in items(answer, "data", "images", "value"):
            yield result_of(title=item.get("name"), url=item.get("hostPageUrl"), image=item.get("contentUrl"))


class SearXNG(SearchAdapter):
    kind = "searxng"
    needs_key = False

    def request(self, query: SearchQuery, base_url: str, key: str) -> OutgoingRequest:
        if not base_url:
            raise SearchFailed("its address is not set")
        params = {
            "q": query.search_text("site") if query.type in _SEARXNG_CATEGORIES else query.search_text("type", "site"),
            "format": "json",
            "categories": _SEARXNG_CATEGORIES.get(query.type, "general"),
        } | ({"time_range": query.span} if query.span else {})
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return OutgoingRequest(url=f"{base_url}/search", params=params, headers=headers)

    def results(self, answer: Any) -> Iterator[SearchResult | None]:
        for item in items(answer, "results"):
            yield result_of(
                title=item.get("title"),
                url=item.get("url"),
                summary=item.get("content"),
                date=item.get("publishedDate"),
                image=item.get("img_src"),
            )


class Ddgs(SearchAdapter):
    kind = "ddgs"
    needs_key = False

    async def ask(self, query: SearchQuery, engine: Engine, policy: NetworkPolicy) -> list[SearchResult]:
        category = _DDGS_CATEGORIES.get(query.type, "text")
        words = query.search_text("type", "site") if category == "text" else query.search_text("site")
        request = {"category": category, "query": words, "timelimit": query.span[:1], "count": query.count}
        try:
            answer = await answer_of(_DDGS_CHILD, request, limits=_DDGS_LIMITS)
        except NoAnswer as error:
            raise SearchFailed("it took too long") from error
        if problem := answer.get("error"):
            raise SearchFailed("nothing came back" if "No results" in problem else "no engine could be reached")
        return [result for result in self.results(answer) if result]

    def results(self, answer: Any) -> Iterator[SearchResult | None]:
        for item in items(answer, "results"):
            yield result_of(
                title=item.get("title"),
                url=item.get("href") or item.get("url"),
                summary=item.get("body"),
                date=item.get("date"),
                image=item.get("image") if "thumbnail" in item else "",
            )

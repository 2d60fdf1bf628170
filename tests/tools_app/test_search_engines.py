"""Tests of each engine over real HTTP: its request, and answers in the shape of its documentation."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer

from tools_app.contract import Engine
from tools_app.errors import FetchFailed
from tools_app.network import NetworkPolicy
from tools_app.search_engines import adapters, query
from tools_app.search_engines.asking import ADAPTERS
from tools_app.search_engines.base import SearchFailed
from tools_app.search_engines.query import SearchQuery, SearchResult, today

ANSWERS = Path(__file__).parent / "search_answers"
NOBODY_INSIDE = NetworkPolicy()
OVER_HTTP = sorted(kind for kind in ADAPTERS if kind != "ddgs")
BEES = SearchResult(
    title="Bees of the world",
    url="https://example.org/bees",
    summary="Bees are insects known for their role in pollination.",
    date="2026-08-03",
)
BEE_PICTURE = "https://images.example.org/bee.jpg"


@dataclass
class Service:
    """A stand-in for an engine. It has one answer and stores the requests."""

    body: bytes = b"{}"
    status: int = 200
    asked: list[web.Request] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    url: str = ""

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        self.bodies.append(await request.json() if request.can_read_body else dict(request.query))
        return web.Response(body=self.body, status=self.status, content_type="application/json")

    def engine(self, kind: str) -> Engine:
        return Engine(name=kind, kind=kind, base_url=self.url, api_key="a key")

    async def search(self, kind: str, type: str = "info", **query: Any) -> list[SearchResult]:
        wanted = SearchQuery(**{"type": type, "words": "bees", "count": 8} | query)
        return await ADAPTERS[kind].ask(wanted, self.engine(kind), NOBODY_INSIDE)


@pytest_asyncio.fixture
async def service() -> AsyncIterator[Service]:
    service = Service()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", service.handle)
    async with TestServer(app) as server:
        service.url = str(server.make_url("/"))
        yield service


def recorded(name: str) -> bytes:
    return (ANSWERS / f"{name}.json").read_bytes()


@pytest.mark.parametrize("kind", OVER_HTTP)
async def test_results_are_parsed(service: Service, kind: str) -> None:
    service.body = recorded(kind)
    found = [item for item in await service.search(kind) if not item.image]
    assert (found[0].title, found[0].url) == (BEES.title, BEES.url)
    assert found[0].summary.startswith("Bees are insects known for their role in pollination")
    assert "2026" in found[0].date
    assert (found[1].title, found[1].url, found[1].summary) == (
        "Honey",
        "https://example.com/honey",
        "Honey is made by bees.",
    )


@pytest.mark.parametrize("kind", ["brave", "exa", "bocha", "searxng"])
async def test_markup_times_and_line_breaks_do_not_reach_a_model(service: Service, kind: str) -> None:
    service.body = recorded(kind)
    first = (await service.search(kind))[0]
    assert first.date == "2026-08-03"
    assert not {"<", "\n", "&amp;"} & {*first.summary, *first.summary.split()}


HEADERS = {
    "tavily": ("Authorization", "Bearer a key"),
    "brave": ("X-Subscription-Token", "a key"),
    "exa": ("x-api-key", "a key"),
    "serper": ("X-API-KEY", "a key"),
    "bocha": ("Authorization", "Bearer a key"),
    "searxng": ("Authorization", "Bearer a key"),
}


@pytest.mark.parametrize("kind", OVER_HTTP)
async def test_the_key_goes_in_a_header_and_never_in_the_address(service: Service, kind: str) -> None:
    service.body = recorded(kind)
    await service.search(kind)
    name, value = HEADERS[kind]
    assert service.asked[0].headers[name] == value
    assert "key" not in str(service.asked[0].url)


TODAY = date(2026, 11, 20)
AGO = TODAY - timedelta(days=5)
ASKED = [
    ("tavily", "info", "/search", {"query": "bees", "topic": "general", "start_date": str(AGO), "include_domains": ["a.org"]}),
    ("tavily", "news", "/search", {"query": "bees", "topic": "news"}),
    ("tavily", "data", "/search", {"query": "bees dataset"}),
    ("brave", "info", "/res/v1/web/search", {"q": "bees site:a.org", "count": "8", "freshness": f"{AGO}to{TODAY}"}),
    ("brave", "news", "/res/v1/news/search", {"q": "bees site:a.org"}),
    ("brave", "image", "/res/v1/images/search", {"q": "bees site:a.org", "count": "8"}),
    ("brave", "api", "/res/v1/web/search", {"q": "bees API documentation site:a.org"}),
    ("exa", "research", "/search", {"query": "bees", "category": "research paper", "includeDomains": ["a.org"]}),
    ("exa", "tool", "/search", {"query": "bees software tool", "startPublishedDate": f"{AGO}T00:00:00.000Z"}),
    ("serper", "info", "/search", {"q": "bees site:a.org", "num": 8}),
    ("serper", "news", "/news", {"tbs": f"cdr:1,cd_min:{AGO:%m/%d/%Y},cd_max:{TODAY:%m/%d/%Y}"}),
    ("serper", "research", "/scholar", {"q": "bees site:a.org"}),
    ("serper", "image", "/images", {"q": "bees site:a.org"}),
    ("bocha", "info", "/v1/web-search", {"query": "bees", "include": "a.org", "freshness": f"{AGO}..{TODAY}"}),
    ("searxng", "research", "/search", {"q": "bees site:a.org", "categories": "science", "time_range": "week"}),
    ("searxng", "info", "/search", {"categories": "general", "format": "json"}),
    ("searxng", "data", "/search", {"q": "bees dataset site:a.org"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "type", "path", "expected"), ASKED)
async def test_type_site_and_time_shape_the_request(
    service: Service, monkeypatch: pytest.MonkeyPatch, kind: str, type: str, path: str, expected: dict[str, Any]
) -> None:
    for module in (adapters, query):
        monkeypatch.setattr(module, "today", lambda: TODAY)
    service.body = recorded(kind)
    await service.search(kind, type, site="a.org", since=AGO)
    assert service.asked[0].path == path
    assert {name: service.bodies[0].get(name) for name in expected} == expected


@pytest.mark.parametrize("answer", ["tavily_image", "brave_image", "serper_image", "bocha"])
async def test_pictures_come_with_their_address_and_their_page(service: Service, answer: str) -> None:
    service.body = recorded(answer)
    found = await service.search(answer.removesuffix("_image"), "image")
    assert BEE_PICTURE in [item.image for item in found]


async def test_news_and_papers_have_their_dates(service: Service) -> None:
    service.body = recorded("brave_news")
    assert [item.date for item in await service.search("brave", "news")] == ["2026-11-20"]
    service.body = recorded("serper_research")
    assert [item.date for item in await service.search("serper", "research")] == ["2024"]


async def test_exa_refuses_image_searches(service: Service) -> None:
    with pytest.raises(SearchFailed, match="does not search for images"):
        await service.search("exa", "image")
    assert not service.asked


@pytest.mark.parametrize("kind", OVER_HTTP)
@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, "HTTP 401, its key is refused"), (429, "HTTP 429, too many requests"), (503, "HTTP 503, it has a fault")],
)
async def test_refusals_are_explained(service: Service, kind: str, status: int, reason: str) -> None:
    service.status = status
    with pytest.raises(SearchFailed, match=reason):
        await service.search(kind)


@pytest.mark.parametrize("kind", OVER_HTTP)
@pytest.mark.parametrize("body", [b"", b"<html>", b"[[[", b"\xff", b"[" * 100_000, b'{"results": '])
async def test_invalid_json_is_a_failure(service: Service, kind: str, body: bytes) -> None:
    service.body = body
    with pytest.raises(SearchFailed, match="no JSON"):
        await service.search(kind)


SHAPES = [
    [], None, 1, "text", {"results": 5}, {"results": [None, 3, "x", []]}, {"web": []}, {"data": {"webPages": 1}},
    {"results": [{"title": None, "url": 5}]}, {"results": [{"url": "javascript:alert(1)", "title": "x"}]},
    {"results": [{"url": "ftp://x/", "properties": "x"}], "organic": {"a": 1}, "data": {}},
]  # fmt: skip


@pytest.mark.parametrize("kind", OVER_HTTP)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
async def test_an_unknown_shape_holds_no_results(service: Service, kind: str, shape: Any) -> None:
    service.body = json.dumps(shape).encode()
    if kind == "bocha" and not (isinstance(shape, dict) and isinstance(shape.get("data"), dict)):
        with pytest.raises(SearchFailed, match="its answer has no data"):
            await service.search(kind)
    else:
        assert await service.search(kind) == []


async def test_an_overlong_result_is_cut(service: Service) -> None:
    long = {"title": "t" * 10_000, "url": "https://a.org/" + "u" * 10_000, "content": "c" * 100_000}
    service.body = json.dumps({"results": [long]}).encode()
    (item,) = await service.search("tavily")
    assert (len(item.title), len(item.url), len(item.summary)) == (200, 2_000, 500)


async def test_a_redirect_is_not_followed_with_the_key(service: Service) -> None:
    service.status = 302
    with pytest.raises(SearchFailed, match="HTTP 302"):
        await service.search("tavily")
    assert len(service.asked) == 1


async def test_an_engine_reaches_its_own_internal_address_and_no_other() -> None:
    with pytest.raises(FetchFailed):  # nothing listens there, but it was tried
        await ADAPTERS["searxng"].ask(
            SearchQuery(type="info", words="x", count=1),
            Engine(name="own", kind="searxng", base_url="http://127.0.0.1:9"),
            NOBODY_INSIDE,
        )
    policy = NOBODY_INSIDE.with_host_of("http://127.0.0.1:9")
    assert policy.allow_internal == {"127.0.0.1:9"}


async def test_searxng_without_an_address_says_so() -> None:
    engine = Engine(name="searxng", kind="searxng")
    with pytest.raises(SearchFailed, match="address is not set"):
        await ADAPTERS["searxng"].ask(SearchQuery(type="info", words="x", count=1), engine, NOBODY_INSIDE)


@pytest.mark.parametrize(
    ("days", "span"), [(0, "day"), (1, "day"), (7, "week"), (30, "month"), (365, "year"), (400, "")]
)
def test_a_span_reaches_back_far_enough(days: int, span: str) -> None:
    assert SearchQuery(type="info", words="x", count=1, since=today() - timedelta(days=days)).span == span

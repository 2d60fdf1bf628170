"""Tests that the next engine is asked if one fails, and that the result reports it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer

from tools_app.contract import Engine
from tools_app.network import NetworkPolicy
from tools_app.search_engines import adapters, asking, base
from tools_app.search_engines.base import SearchFailed
from tools_app.search_engines.query import SearchQuery, SearchResult

ANSWERS = Path(__file__).parent / "search_answers"
Make = Callable[[str, str], Engine]


async def answer(request: web.Request) -> web.StreamResponse:
    """Answer as the first part of the path says."""
    how = request.path.split("/")[1]
    if how.isdigit():
        return web.Response(status=int(how))
    if how == "silent":
        await asyncio.sleep(30)
    if how == "cut":
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"results": [')
        assert request.transport
        request.transport.close()
        return response
    if how == "html":
        return web.Response(text="<html>A captcha</html>")
    return web.Response(body=(ANSWERS / f"{how}.json").read_bytes())


@pytest_asyncio.fixture
async def engine() -> AsyncIterator[Make]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app, shutdown_timeout=0.1) as server:
        yield lambda kind, how: Engine(name=f"{kind}-{how}", kind=kind, base_url=str(server.make_url(f"/{how}")))


async def search(*engines: Engine, words: str = "bees", **query: object) -> asking.SearchOutcome:
    wanted = SearchQuery(**{"type": "info", "words": words, "count": 8} | query)  # type: ignore[arg-type]
    return await asking.search(wanted, engines, NetworkPolicy())


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "TIMEOUT_S", 0.3)


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("401", "HTTP 401, its key is refused"),
        ("429", "HTTP 429, too many requests"),
        ("500", "HTTP 500, it has a fault"),
        ("301", "HTTP 301"),
        ("silent", "No complete answer within 0.3 seconds"),
        ("cut", "The request failed"),
        ("html", "its answer is no JSON"),
    ],
)
async def test_each_failure_leads_to_the_next_engine(engine: Make, how: str, reason: str) -> None:
    outcome = await search(engine("tavily", how), engine("brave", "brave"))
    assert outcome.engine == "brave-brave"
    assert outcome.results[0].title == "Bees of the world"
    assert len(outcome.failures) == 1
    assert outcome.failures[0].startswith(f"tavily-{how} failed ({reason}")


async def test_an_engine_out_of_reach_leads_to_the_next_one(engine: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closing:
        address = f"http://127.0.0.1:{closing.getsockname()[1]}"
    outcome = await search(Engine(name="own", kind="searxng", base_url=address), engine("exa", "exa"))
    assert (outcome.engine, len(outcome.results)) == ("exa-exa", 2)


async def test_an_engine_that_lacks_the_type_leads_to_the_next_one(engine: Make) -> None:
    outcome = await search(engine("exa", "exa"), engine("brave", "brave_image"), type="image")
    assert outcome.failures == ["exa-exa failed (it does not search for images)"]
    assert [item.image for item in outcome.results] == ["https://images.example.org/bee.jpg"]


async def test_total_failure_names_each_engine(engine: Make) -> None:
    with pytest.raises(SearchFailed) as failure:
        await search(engine("tavily", "429"), engine("brave", "500"), engine("serper", "html"))
    assert str(failure.value) == (
        "No search engine answered: tavily-429 failed (HTTP 429, too many requests), "
        "brave-500 failed (HTTP 500, it has a fault), serper-html failed (its answer is no JSON)."
    )


async def test_an_answer_without_results_is_an_answer(engine: Make) -> None:
    outcome = await search(engine("tavily", "brave"), engine("brave", "brave"))
    assert (outcome.engine, outcome.results, outcome.failures) == ("tavily-brave", [], [])


async def test_the_first_engine_that_answers_is_the_only_one_asked(engine: Make) -> None:
    outcome = await search(engine("serper", "serper"), engine("brave", "500"))
    assert (outcome.engine, outcome.failures) == ("serper-serper", [])


def test_addresses_are_distinct_and_limited() -> None:
    found = [SearchResult(title=str(n), url=f"https://a/{n % 3}") for n in range(6)]
    query = SearchQuery(type="info", words="x", count=2)
    assert [item.title for item in asking._distinct(found, query)] == ["0", "1"]


# --- no configured engine: ddgs, in a child process ----------------------------------------------------------------


@pytest.fixture
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "_DDGS_CHILD", "tests.tools_app.children.searches")


@pytest.mark.usefixtures("_recorded")
async def test_without_any_engine_ddgs_is_asked() -> None:
    outcome = await search(site="a.org", type="research")
    assert (outcome.engine, outcome.results[1]) == (
        "ddgs",
        SearchResult(title="Honey", url="https://example.com/honey", summary="Honey is made by bees."),
    )
    assert '"category": "text", "query": "bees research paper site:a.org"' in outcome.results[0].summary


@pytest.mark.usefixtures("_recorded")
@pytest.mark.parametrize(
    ("words", "reason"), [("nothing", "nothing came back"), ("offline", "no engine could be reached")]
)
async def test_a_failure_of_ddgs_is_named_in_our_words(words: str, reason: str) -> None:
    with pytest.raises(SearchFailed, match=rf"No search engine answered: ddgs failed \({reason}\)\."):
        await search(words=words)


@pytest.mark.usefixtures("_recorded")
async def test_ddgs_ends_when_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "_DDGS_LIMITS", adapters.ChildLimits(wall_s=0.5))
    with pytest.raises(SearchFailed, match="it took too long"):
        await search(words="stall")


def test_ddgs_supports_the_configured_engines() -> None:
    from ddgs.engines import ENGINES

    from tools_app.search_engines.ddgs_child import _BACKENDS

    for category, names in _BACKENDS.items():
        assert set(names.split(", ")) <= set(ENGINES[category])

"""The web tools in the entire loop: search with its engines and its cache, and fetch_url."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from llm_app.models import ServiceKey
from tasks_app.models import ContextEntry, Limits
from tests import factories, pages
from tests.tasks_app.engine.conftest import Run, call, result
from tests.tools_app import documents
from tools_app.models import AllowedAddress, CachedSearch, SearchEngine

ANSWERS = Path(__file__).parents[2] / "tools_app" / "search_answers"
Play = Callable[..., Run]


@pytest.fixture
def site(transactional_db: None) -> Iterator[pages.Site]:
    """A SearXNG that answers, and pages."""
    with pages.serving({"/search": (ANSWERS / "searxng.json").read_text(), "/report": "report"}) as site:
        site.headers["/search"] = {"Content-Type": "application/json"}
        yield site


@pytest.fixture
def engine(site: pages.Site) -> SearchEngine:
    engine: SearchEngine = SearchEngine.objects.create(name="ours", kind="searxng", base_url=site.url(""))
    return engine


def search(words: str = "bees") -> dict[str, object]:
    return call("search", type="info", query=words)


def test_a_task_searches_with_the_engine_that_is_set_up(play: Play, engine: SearchEngine, site: pages.Site) -> None:
    run = play(search(), result())
    assert run.advance().state == "done"
    status, content = run.results()[0]
    assert status == "succeeded"
    assert content.startswith("<search_results>\n1. ")
    assert "Open a source with fetch_url for its full text." in content
    entry = ContextEntry.objects.get(session=run.task.session, metadata__engine="ours")
    assert entry.metadata["results"] > 0


def test_the_same_search_is_answered_from_the_cache_for_the_same_person_only(
    play: Play, engine: SearchEngine, site: pages.Site
) -> None:
    run = play(search(), search(), result())
    run.advance()
    assert run.results()[1][1].endswith("(from the same search some minutes ago)")
    assert len(site.asked) == 1
    CachedSearch.objects.update(user=factories.UserFactory())
    play(search(), result()).advance()
    assert len(site.asked) == 2


def test_results_come_in_pages_from_one_search(play: Play, engine: SearchEngine, site: pages.Site) -> None:
    Limits.objects.create(pk=1, result_tokens=300)
    run = play(*[call("search", type="info", query="bees", offset=offset) for offset in (1, 2, 3)], result())
    assert run.advance().state == "done"
    first, second, behind = (content for _, content in run.results()[:3])
    assert '[results 1 to 1 of 2. Next page: search(type="info", query="bees", offset=2)]' in first
    assert [content.split("\n")[1][:2] for content in (first, second)] == ["1.", "2."]
    assert behind.startswith("There are 2 results only.")
    assert len(site.asked) == 1


def test_an_engine_that_fails_is_followed_by_the_next_one(play: Play, engine: SearchEngine, site: pages.Site) -> None:
    broken = SearchEngine.objects.create(name="broken", kind="tavily", base_url=site.url("/nothing"), priority=0)
    ServiceKey.store(broken.key_name, "tvly-0123456789-key")
    run = play(search(), result())
    run.advance()
    status, content = run.results()[0]
    assert status == "succeeded"
    assert content.splitlines()[-1].startswith("(broken failed (HTTP ")
    assert content.endswith("asked ours)")
    assert "tvly-0123456789-key" not in content


def test_a_disabled_engine_is_not_asked(play: Play, engine: SearchEngine, site: pages.Site) -> None:
    SearchEngine.objects.create(name="off", kind="searxng", base_url=site.url("/off"), priority=0, enabled=False)
    play(search(), result()).advance()
    assert [path.partition("?")[0] for path in site.asked] == ["/search"]


def test_a_task_reads_a_document_page_by_page(play: Play, site: pages.Site) -> None:
    AllowedAddress.objects.create(address=site.host)
    site.raw["/report"] = documents.pdf("First words", "Last words")
    run = play(call("fetch_url", url=site.url("/report")), result())
    assert run.advance().state == "done"
    assert "--- page 2 of 2 ---\nLast words" in run.results()[0][1]

"""Web searches, which ask the configured engines in turn until one answers."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from tools_app.contract import Engine
from tools_app.errors import ToolError
from tools_app.network import NetworkPolicy
from tools_app.search_engines.adapters import Bocha, Brave, Ddgs, Exa, SearXNG, Serper, Tavily
from tools_app.search_engines.base import SearchFailed
from tools_app.search_engines.query import SearchQuery, SearchResult

logger = logging.getLogger(__name__)
ADAPTERS = {adapter.kind: adapter for adapter in (Tavily(), Brave(), Exa(), Serper(), Bocha(), SearXNG(), Ddgs())}
DEFAULT_ENGINE = Engine(name="ddgs", kind="ddgs")  # used if no engine is configured


@dataclass(frozen=True, kw_only=True)
class SearchOutcome:
    """The results of `engine`, best first, and the failures of the engines that were asked before it."""

    engine: str
    results: Sequence[SearchResult]
    failures: Sequence[str]


async def search(query: SearchQuery, engines: Sequence[Engine], policy: NetworkPolicy) -> SearchOutcome:
    """Ask the engines in order.

    Raises: SearchFailed if none answers.
    """
    failures: list[str] = []
    for engine in engines or (DEFAULT_ENGINE,):
        try:
            results = await ADAPTERS[engine.kind].ask(query, engine, policy)
        except ToolError as error:
            logger.warning("the search engine %s failed: %s", engine.name, error)
            failures.append(f"{engine.name} failed ({str(error).rstrip('.')})")
        else:
            return SearchOutcome(engine=engine.name, results=_distinct(results, query), failures=failures)
    raise SearchFailed(f"No search engine answered: {', '.join(failures)}.")


def _distinct(results: Sequence[SearchResult], query: SearchQuery) -> list[SearchResult]:
    """Return the requested number of results, with distinct addresses, and only pictures in a search for images."""
    by_address: dict[str, SearchResult] = {}
    for result in results:
        if result.image or query.type != "image":
            by_address.setdefault(result.url, result)
    return list(by_address.values())[: query.count]

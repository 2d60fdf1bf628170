"""Web searches, which ask the configured engines in turn until one answers."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from tools_app.contract import Engine
from tools_app.errors import ToolError
from tools_app.network import NetworkPolicy
from tools_app.search_engines.adapters import Bocha, Brave, Ddgs, Exa, SearXNG, Serper, Tavily
from tools_app.search_engines.base import SearchFailed
from tools_app.search_engines.query import Query, SearchResult

logger = logging.getLogger(__name__)
ADAPTERS = {adapter.kind: adapter for adapter in (Tavily(), Brave(), Exa(), Serper(), Bocha(), SearXNG(), Ddgs())}
WITHOUT_KEY = Engine(name="ddgs", kind="ddgs")  # used if no engine is configured


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The results of `engine`, best first, and the failures of the engines that were asked before it."""

    engine: str
    found: Sequence[SearchResult]
    failures: Sequence[str]


async def search(query: Query, engines: Sequence[Engine], policy: NetworkPolicy) -> Outcome:
    """Ask the engines in order.

    Raises: SearchFailed if none answers.
    """
    failures: list[str] = []
    for engine in engines or (WITHOUT_KEY,):
        try:
            found = await ADAPTERS[engine.kind].ask(query, engine, policy)
        except ToolError as error:
            logger.warning("the search engine %s failed: %s", engine.name, error)
            failures.append(f"{engine.name} failed ({str(error).rstrip('.')})")
        else:
            return Outcome(engine=engine.name, found=_fitting(found, query), failures=failures)
    raise SearchFailed(f"No search engine answered: {', '.join(failures)}.")


def _fitting(found: Sequence[SearchResult], query: Query) -> list[SearchResult]:
    """Return the requested number of results, with distinct addresses, and only pictures in a search for images."""
    kept: dict[str, SearchResult] = {}
    for item in found:
        if item.image or query.type != "image":
            kept.setdefault(item.url, item)
    return list(kept.values())[: query.count]

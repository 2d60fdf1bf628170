"""Asks the configured engines, one after the other, until one answers."""

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
WITHOUT_KEY = Engine(name="ddgs", kind="ddgs")  # asked where none is set up


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What `engine` found, the best first; and how those failed that were asked before it."""

    engine: str
    found: Sequence[SearchResult]
    failures: Sequence[str]


async def search(query: Query, engines: Sequence[Engine], policy: NetworkPolicy) -> Outcome:
    """`engines` are asked in their order. Raises SearchFailed when none answers."""
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
    """Each address once, pictures where pictures are searched for, and no more than were asked for."""
    kept: dict[str, SearchResult] = {}
    for item in found:
        if item.image or query.type != "image":
            kept.setdefault(item.url, item)
    return list(kept.values())[: query.count]

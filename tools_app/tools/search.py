"""The tool `search`, which searches the web."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date, timedelta
from typing import Any

from pydantic import Field, field_validator

from tools_app.contract import Arguments, Danger, Synonyms, Target, ToolContext, ToolResult, tool
from tools_app.contract.effects import CacheSearch
from tools_app.paging import fitting_items, next_call, size
from tools_app.search_engines.asking import search as search_web
from tools_app.search_engines.query import SearchQuery, SearchResult, SearchType, today
from tools_app.web.untrusted import enclose_results

_FRAME_BYTES = 300  # bytes of the texts around a page
_HINT = "These are summaries. Open a source with fetch_url for its full text."
_SITE = re.compile(r"(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}", re.IGNORECASE)
_AGO = re.compile(r"(\d{1,4})([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


class SearchArguments(Arguments):
    type: SearchType = Field(
        description="info: the web. research: papers. api: programmers' documentation. data: data sets. tool: software."
    )
    query: str = Field(min_length=1, max_length=400, description="Keywords, no question.")
    max_results: int = Field(8, ge=1, le=20, description="The most results.")
    site: str | None = Field(None, description="Only this site, such as docs.python.org.")
    since: str | None = Field(None, description="Nothing older than 2026-01-31, say, or 1d, 2w, 3m, 1y.")
    offset: int = Field(1, ge=1, description="The first result.")

    @field_validator("site")
    @classmethod
    def _is_host(cls, value: str | None) -> str | None:
        if value and not _SITE.fullmatch(value):
            raise ValueError("a host such as docs.python.org, without http:// and without a path")
        return value

    @field_validator("since")
    @classmethod
    def _is_time(cls, value: str | None) -> str | None:
        if value:
            since(value)
        return value


def since(text: str) -> date:
    """Parse "7d" or "2026-01-31" as a date.

    Raises: ValueError.
    """
    if ago := _AGO.fullmatch(text):
        return today() - timedelta(days=int(ago[1]) * _DAYS[ago[2]])
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError("a date such as 2026-01-31, or a time back such as 7d, 2w, 3m or 1y") from error


@tool(
    name="search",
    description="Searches the web. Summaries may be old: open sources that matter with fetch_url.",
    arguments=SearchArguments,
    danger=Danger.SAFE,
    target=Target.NETWORK,
    compact_template="search {type}: {query}[, site {site}][, since {since}]",
    synonyms=Synonyms(
        arguments={
            **dict.fromkeys(("q", "searchquery", "keywords", "searchterm", "text"), "query"),
            **dict.fromkeys(("numresults", "count", "limit", "n", "topk", "num"), "max_results"),
            **dict.fromkeys(("domain", "alloweddomain"), "site"),
        }
    ),
    activity={"": "searched the web for {query}|made # web searches"},
)
async def search(arguments: SearchArguments, context: ToolContext) -> ToolResult:
    key = hashlib.sha256(f"results {arguments.model_dump_json(exclude={'offset'})}".encode()).hexdigest()
    cached = await context.searches.cached_result(key)
    if cached:
        results = [SearchResult(**result) for result in json.loads(cached)]
        return _page(arguments, results, context.page_bytes, "(from the same search some minutes ago)", {"kept": True})
    outcome = await search_web(_query(arguments), await context.searches.engines(), context.network)
    course = f"({', '.join(outcome.failures)}, asked {outcome.engine})" if outcome.failures else ""
    metadata = {"engine": outcome.engine, "results": len(outcome.results)}
    page = _page(arguments, outcome.results, context.page_bytes, course, metadata)
    content = json.dumps([asdict(result) for result in outcome.results], ensure_ascii=False)
    return replace(page, effects=[CacheSearch(key=key, content=content)] if outcome.results else [])


def _query(arguments: SearchArguments) -> SearchQuery:
    return SearchQuery(
        type=arguments.type,
        words=" ".join(arguments.query.split()),
        count=arguments.max_results,
        site=arguments.site or "",
        since=since(arguments.since) if arguments.since else None,
    )


def _page(
    arguments: SearchArguments,
    results: Sequence[SearchResult],
    page_bytes: int,
    course: str,
    metadata: Mapping[str, Any],
) -> ToolResult:
    """Return as many complete results as fit, at least one, and the call for the next page.

    `course` says which engines failed, or that the results were cached.
    """
    if not results:
        lines = ["Nothing was found. Try other words, or drop site and since."]
    elif arguments.offset > len(results):
        lines = [f"There are {len(results)} results only."]
    else:
        entries = (_entry(*item) for item in enumerate(results[arguments.offset - 1 :], arguments.offset))
        page = fitting_items(entries, page_bytes - _FRAME_BYTES - size(_next_page(arguments, arguments.offset)))
        end = arguments.offset + len(page) - 1
        lines = [enclose_results("\n".join(page)), _HINT]
        if end < len(results):
            call = _next_page(arguments, end + 1)
            lines.append(f"[results {arguments.offset} to {end} of {len(results)}. Next page: {call}]")
    return ToolResult(content="\n".join([*lines, *filter(None, [course])]), cut="none", metadata=metadata)


def _next_page(arguments: SearchArguments, offset: int) -> str:
    parameters = arguments.model_dump(exclude_defaults=True, exclude_none=True)
    return next_call("search", **(parameters | {"offset": offset}))


def _entry(number: int, result: SearchResult) -> str:
    summary = " · ".join(filter(None, [result.date, result.summary]))
    picture = f"picture: {result.image}" if result.image else ""
    return "\n   ".join(filter(None, [f"{number}. {result.title or result.url}", result.url, picture, summary]))

"""The tool `fetch_url`, which reads web pages and documents."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from pydantic import Field, model_validator

from tools_app.browser.program import chromium_path
from tools_app.contract import Arguments, Danger, ReaderService, Synonyms, Target, ToolContext, ToolResult, tool
from tools_app.documents.document import visible
from tools_app.documents.document_page import document_page
from tools_app.errors import ToolError
from tools_app.network import FetchedResponse, NetworkPolicy, check_url
from tools_app.network.fetch import fetch
from tools_app.paging import end_of_page, next_call, size
from tools_app.sandbox import ProcessIdentity
from tools_app.web.reader import (
    WebDocument,
    WebPage,
    extract_page,
    read_by_service,
    read_page,
    truncated,
    web_document,
)
from tools_app.web.recent_pages import ReadPage, recent_pages
from tools_app.web.untrusted import enclose

_TIMEOUT_S = 30
_MAX_BYTES = 2 * 1024**2  # of a page
_MAX_DOCUMENT = 20 * 1024**2
_HEADERS = {"Accept": "text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.8,*/*;q=0.5"}
_HINTS = {
    401: "It needs a login.",
    403: "The site refuses automatic readers or needs a login. Try another source.",
    404: "There is no such page. Check the address, or search for it.",
    410: "The page was removed. Try another source.",
    429: "The site gets too many requests. Wait, or try another source.",
}

_FRAME_BYTES = 250  # bytes of the texts around a page
_HEADING = "==> {} <=="  # of one of several pages
_LEAST_PART = 400  # bytes for one of several pages
_MIN_TEXT = 100  # characters: "Loading…", "Please enable JavaScript"
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)


class FetchURLArguments(Arguments):
    url: str = Field("", max_length=8_000, description="The whole address.")
    urls: list[str] | None = Field(None, max_length=5, description="Or up to five.")
    offset: int = Field(0, ge=0, description="The first character; of a document, the first page.")
    skip: int | None = Field(None, ge=0, description="As the call for a next page says.")
    max_chars: int | None = Field(None, ge=100, description="The most characters.")

    @model_validator(mode="after")
    def _names_an_address(self) -> "FetchURLArguments":
        if not self.url and not any(self.urls or ()):
            raise ValueError("url: name an address, or several as urls")
        if self.urls and (self.offset or self.skip):
            raise ValueError("offset and skip belong to one url")
        return self


def _fitted(values: dict[str, Any]) -> dict[str, Any]:
    """Put a list in `url` under `urls`, and a single address in `urls` into a list."""
    if isinstance(values.get("url"), list):
        return {name: value for name, value in values.items() if name != "url"} | {"urls": values["url"]}
    return {**values, "urls": [values["urls"]]} if isinstance(values.get("urls"), str) else values


@tool(
    name="fetch_url",
    description="""Reads a web page as Markdown with links, JSON, CSV and XML as they are, documents (PDF, Office …)
    page by page.""",
    arguments=FetchURLArguments,
    danger=Danger.SAFE,
    target=Target.NETWORK,
    compact_template="fetch_url {url}{urls}[ from {offset}][ and {skip} on]",
    synonyms=Synonyms(
        arguments={
            **dict.fromkeys(("link", "uri", "address", "href", "website"), "url"),
            **dict.fromkeys(("maxlength", "limit", "maxcharacters"), "max_chars"),
            **dict.fromkeys(("start", "startindex"), "offset"),
            **dict.fromkeys(("links", "uris", "addresses", "pages"), "urls"),
        },
        fitted=_fitted,
    ),
    activity={"": "read {url}{urls}|read # pages"},
)
async def fetch_url(arguments: FetchURLArguments, context: ToolContext) -> ToolResult:
    addresses = list(dict.fromkeys([*filter(None, [arguments.url]), *(arguments.urls or ())]))
    if len(addresses) > 1:
        return await _several(addresses, arguments, context)
    arguments = arguments.model_copy(update={"url": addresses[0], "urls": None})
    source = await _source(arguments, context)
    return source if isinstance(source, ToolResult) else await _page(source, arguments, context)


async def _several(addresses: Sequence[str], arguments: FetchURLArguments, context: ToolContext) -> ToolResult:
    """Return several pages, each under its address, in fair parts: a short page leaves its rest to the others.

    They are fetched at the same time. An address that cannot be read says so in its part.
    """
    parts = [arguments.model_copy(update={"url": address, "urls": None}) for address in addresses]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_source_or_reason(part, context)) for part in parts]
    sources = [task.result() for task in tasks]
    room, results = context.page_bytes, dict[str, ToolResult]()
    for index, (part, source) in enumerate(sorted(zip(parts, sources, strict=True), key=lambda pair: _length(pair[1]))):
        share = max(room // (len(parts) - index) - size(_HEADING.format(part.url)) - 2, _LEAST_PART)
        result = (
            source if isinstance(source, ToolResult) else await _page(source, part, replace(context, page_bytes=share))
        )
        results[part.url] = result
        room -= size(_HEADING.format(part.url)) + size(result.content) + 2
    return ToolResult(
        content="\n".join(f"{_HEADING.format(address)}\n{results[address].content}" for address in addresses),
        status="succeeded" if any(result.status == "succeeded" for result in results.values()) else "failed",
        cut="none",
        summary="; ".join(results[address].summary or f"{address}: failed" for address in addresses),
    )


async def _source_or_reason(arguments: FetchURLArguments, context: ToolContext) -> ReadPage | WebDocument | ToolResult:
    try:
        return await _source(arguments, context)
    except ToolError as error:
        return ToolResult(content=str(error), status="failed")


def _length(source: ReadPage | WebDocument | ToolResult) -> int:
    if isinstance(source, ToolResult):
        return len(source.content)
    return len(source.page.text if isinstance(source, ReadPage) else source.data)


async def _source(arguments: FetchURLArguments, context: ToolContext) -> ReadPage | WebDocument | ToolResult:
    """Return the page or document of an address, or the failure that the site answered with.

    Raises: ToolError.
    """
    is_continued = arguments.offset or arguments.skip
    source = recent_pages.get(context.session, arguments.url) if is_continued else None
    for address in (arguments.url, source.url) if source else ():
        check_url(address, context.network)  # the network policy can have changed
    if source is not None:
        return source
    fetched = await fetch(
        arguments.url, context.network, max_bytes=_MAX_DOCUMENT, timeout_s=_TIMEOUT_S, headers=_HEADERS
    )
    if not 200 <= fetched.status < 300:
        fault = "The site has a fault. Try again later, or another source." if fetched.status >= 500 else ""
        hint = _HINTS.get(fetched.status, fault)
        sentence = f"{fetched.url} answered with HTTP status {fetched.status}. {hint}".strip()
        return ToolResult(content=sentence, status="failed")
    return web_document(fetched) or await _read(truncated(fetched, _MAX_BYTES), context)


async def _page(source: ReadPage | WebDocument, arguments: FetchURLArguments, context: ToolContext) -> ToolResult:
    if isinstance(source, WebDocument):
        return await _document_page(source, arguments, context)
    page, end = source.page, _page_end(source, arguments, context.page_bytes)
    if end < len(page.text):
        recent_pages.add(context.session, arguments.url, source)
    return ToolResult(
        content="\n".join([_enclosed(source, arguments.offset, end), *_notes(source, arguments, end)]),
        cut="none",
        metadata={"url": source.url, "title": page.title},
        summary=f"{page.title or source.url}, {len(page.text):,} characters",
    )


async def _document_page(document: WebDocument, arguments: FetchURLArguments, context: ToolContext) -> ToolResult:
    page = await document_page(
        document.data,
        document.name,
        offset=max(arguments.offset, 1),
        skip=arguments.skip or 0,
        limit=None,
        room=min(arguments.max_chars or context.page_bytes, context.page_bytes - size(enclose(document.url, ""))),
        next_call=lambda offset, skip, _: next_call("fetch_url", url=arguments.url, offset=offset, skip=skip),
    )
    if page.has_more:
        recent_pages.add(context.session, arguments.url, document)
    return ToolResult(
        content="\n".join([enclose(document.url, "\n".join(page.lines)), *filter(None, [page.closing])]),
        cut="none",
        metadata={"url": document.url, "title": page.title},
        summary=f"{page.title or document.url}, {len(page.lines):,} lines",
    )


async def _read(fetched: FetchedResponse, context: ToolContext) -> ReadPage:
    page = await read_page(fetched)
    if needs_javascript(page, fetched):
        page = await read_with_javascript(fetched, context.network, context.reader, context.started) or page
    return ReadPage(page=page, url=fetched.url, truncated=fetched.truncated)


def _page_end(read: ReadPage, arguments: FetchURLArguments, max_bytes: int) -> int:
    """Return the index of the text's character at which this page of the result ends."""
    frame_bytes = size(_enclosed(read, 0, 0)) + size(_next_page(arguments, arguments.offset)) + _FRAME_BYTES
    end = end_of_page(read.page.text, arguments.offset, max(max_bytes - frame_bytes, max_bytes // 4))
    return min(end, arguments.offset + arguments.max_chars) if arguments.max_chars else end


def _enclosed(read: ReadPage, begin: int, end: int) -> str:
    heading = f"Title: {read.page.title}\n\n" if read.page.title else ""
    return enclose(read.url, heading + read.page.text[begin:end])


def _notes(read: ReadPage, arguments: FetchURLArguments, end: int) -> list[str]:
    """Return notes about text that is not shown, and the call for the next page."""
    page = read.page
    notes = [f"({page.method}: it needs JavaScript)"] if page.method else []
    begin, total = arguments.offset, len(page.text)
    if not page.text:
        notes.append("The page has no text without JavaScript.")
    elif begin >= total:
        notes.append(f"There is nothing at this offset: the text has {total} characters.")
    elif end < total:
        call = _next_page(arguments, end)
        notes.append(
            f"[characters {begin:,} to {end:,} of {'more than ' if read.truncated else ''}{total:,}. Next page: {call}]"
        )
    elif begin:
        notes.append(f"[characters {begin:,} to {end:,} of {total:,}: the end of the page]")
    if read.truncated:
        notes.append(f"Only the first {_MAX_BYTES // 1024**2} MB of it were read.")
    return notes


def _next_page(arguments: FetchURLArguments, offset: int) -> str:
    return next_call("fetch_url", url=arguments.url, offset=offset)


def needs_javascript(page: WebPage, fetched: FetchedResponse) -> bool:
    return len(page.text) < _MIN_TEXT and bool(_SCRIPT.search(fetched.body))


async def read_with_javascript(
    fetched: FetchedResponse,
    policy: NetworkPolicy,
    service: ReaderService | None,
    started: Callable[[ProcessIdentity], None],
) -> WebPage | None:
    """Read the page with the reader service or the browser. Return None if neither succeeds."""
    if service:
        try:
            page = await read_by_service(service, fetched.url, policy)
            if page.text:
                return replace(page, method="read by the reader service")
        except ToolError:
            pass  # try the browser
    if not chromium_path():
        return None
    if not policy.leads_to_sandbox(check_url(fetched.url, policy)):
        policy = replace(policy, sandbox=None)  # scripts of web pages must not reach the sandbox
    try:
        pages = (await asyncio.to_thread(import_module, "tools_app.browser.pages")).pages
        url, html = await pages.read_once(fetched.url, policy, started)
        extracted = await extract_page(html, url)
    except ToolError:
        return None
    return WebPage(title=visible(extracted["title"]), text=visible(extracted["text"]), method="read with the browser")

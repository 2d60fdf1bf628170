"""Tests that fetch_url reads PDF and Office files, and pages that need JavaScript."""

import re
import zipfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from io import BytesIO

import pytest
from aiohttp import web

from tests.tools_app import documents
from tests.tools_app.test_fetch_url_tool import fetched, serving
from tools_app.browser.program import chromium_path
from tools_app.contract import ReaderService, ToolContext, ToolResult
from tools_app.documents.reader import UnreadableDocument
from tools_app.errors import FetchFailed, ToolError
from tools_app.network import NetworkPolicy
from tools_app.web.reader import read_by_service

Call = Callable[..., Awaitable[ToolResult]]
NEEDS_SCRIPTS = "<title>App</title><div id=root></div><script>root.textContent = 'Drawn ' + 6 * 7</script>"


@pytest.fixture
def tool_context(tool_context: ToolContext) -> ToolContext:
    return replace(tool_context, network=NetworkPolicy(allow_internal=frozenset({"127.0.0.1"})))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (documents.pdf("Bees fly", "They rest"), ["--- page 1 of 2 ---\nBees fly", "--- page 2 of 2 ---\nThey rest"]),
        (documents.word(), ["“Bees”", "# On bees\n\nThey fly.\n\n| Kind | Weight |\n\nThey rest."]),
        (
            documents.excel(),
            [
                "--- sheet Weights: 2 rows × 2 columns ---\n|  | A | B |\n| 1 | Kind | Grams |\n| 2 | Honey bee",
                "--- sheet Empty: empty ---",
            ],
        ),
        (
            documents.powerpoint(),
            [
                "--- slide 1 of 2 ---\n# First\n- Body of First",
                "--- slide 2 of 2 ---\n# Second\n- Body of Second\nNotes: Say this",
            ],
        ),
    ],
    ids=["pdf", "docx", "xlsx", "pptx"],
)
async def test_document_becomes_text_with_page_marks(call: Call, data: bytes, expected: list[str]) -> None:
    result = await fetched(call, data, "application/octet-stream")
    for words in expected:
        assert words in result.content
    assert result.content.startswith('<web_page url="http://site/docs/page">')


async def test_document_is_detected_by_content_and_continued_by_offset(call: Call) -> None:
    data = documents.pdf(*(f"Words of page {number}\nand more" for number in range(1, 31)))
    first = (await fetched(call, data, "text/html", max_chars=300)).content
    assert "(PDF, 30 pages)\n--- page 1 of 30 ---\nWords of page 1\nand more\n--- page 2 of 30 ---" in first
    closing = first.partition("</web_page>\n")[2]
    assert re.fullmatch(r'\[pages 1 to \d of 30\. Next page: fetch_url\(url="[^"]+", offset=\d\)]', closing)
    last = (await fetched(call, data, "text/html", offset=30, skip=1)).content
    assert last.partition("\n")[2] == "and more\n</web_page>\n[page 30 of 30: the end of the document]"
    with pytest.raises(ToolError, match="There is no page 31: .* has 30"):
        await fetched(call, data, "text/html", offset=31)


def bomb() -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("word/document.xml", "w", force_zip64=True) as entry:
            for _ in range(501):
                entry.write(bytes(1000**2))
    return out.getvalue()


def archive(*names: str) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name in names:
            file.writestr(name, "<broken")
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (documents.pdf("secret", password="x"), "needs a password"),
        (b"%PDF-1.7 broken", "damaged"),
        (b"PK\x03\x04 broken", "damaged"),
        (archive("a.txt"), "It is an archive"),
        (archive("word/document.xml"), "damaged, or no Word"),
        (archive("xl/workbook.xml"), "damaged: it has no sheets"),
        (archive("ppt/presentation.xml"), "damaged, or no PowerPoint"),
    ],
)
async def test_unreadable_document_is_reported_in_a_sentence(call: Call, data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        await fetched(call, data, "application/octet-stream")


async def test_bomb_is_not_unpacked(call: Call) -> None:
    with pytest.raises(UnreadableDocument, match="too large when unpacked"):
        await fetched(call, bomb(), "application/zip")


async def test_oversized_document_is_not_read_partially(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools_app.tools.fetch_url._MAX_DOCUMENT", 1000)
    with pytest.raises(FetchFailed, match="larger than"):
        await fetched(call, documents.pdf(*["page"] * 20), "application/pdf")


async def test_scanned_document_is_reported(call: Call) -> None:
    assert "is a picture, such as a scan" in (await fetched(call, documents.pdf(""), "application/pdf")).content


@pytest.mark.skipif(not chromium_path(), reason="no Chromium is installed")
async def test_page_that_needs_javascript_is_read_with_the_browser(call: Call) -> None:
    result = await fetched(call, NEEDS_SCRIPTS)
    assert "Drawn 42" in result.content
    assert "Title: App" in result.content
    assert result.content.endswith("(read with the browser: it needs JavaScript)")


async def test_reader_service_comes_first_except_for_internal_pages(
    call: Call, tool_context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools_app.tools.fetch_url.chromium_path", str)
    asked: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        if request.path.startswith("/read/"):
            asked.append(f"{request.path_qs} {request.headers.get('Authorization')}")
            return web.Response(text="Read for you")
        return web.Response(text=NEEDS_SCRIPTS, content_type="text/html")

    async with serving(handler) as server:
        service = ReaderService(base_url=str(server.make_url("/read/")), key="k")
        object.__setattr__(tool_context, "reader", service)
        result = await call("fetch_url", url=str(server.make_url("/page")))
        assert "no text without JavaScript" in result.content
        assert asked == []
        page = await read_by_service(service, "http://site.example/a?b=c", tool_context.network)
        assert page.text == "Read for you"
        assert asked == ["/read/http://site.example/a?b=c Bearer k"]


async def test_mail_and_notebooks_on_the_web_are_documents(call: Call) -> None:
    assert (
        "--- attachment bees.pdf, page 1 of 1 ---\nBees fly"
        in (await fetched(call, documents.mail(), "message/rfc822", max_chars=2_000)).content
    )
    book = b'{"cells": [{"cell_type": "markdown", "source": "# Bees"}]}'
    assert "--- cell 1 of 1 ---\n# Bees" in (await fetched(call, book, "application/x-ipynb+json")).content

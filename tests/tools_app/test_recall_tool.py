"""Tests of the tool `recall`: the complete record of a number, page by page."""

from dataclasses import replace
from typing import Any

import pytest

from tests.tools_app.conftest import Call
from tools_app.contract import ToolContext
from tools_app.contract.registry import compact_line
from tools_app.errors import NothingStored, ToolError
from tools_app.files import clipped

STORED = {3: "short", 4: "".join(f"{number:07}\n" for number in range(2_000)), 5: "ü" * 5_000}


@pytest.fixture
def tool_context(tool_context: ToolContext) -> ToolContext:
    async def stored(number: int) -> str:
        if number not in STORED:
            raise NothingStored()
        return STORED[number]

    return replace(tool_context, stored_result=stored, page_bytes=6_000)


async def test_short_result_is_returned_unchanged(call: Call) -> None:
    assert (await call("recall", number=3)).content == "short"


@pytest.mark.parametrize("number", [4, 5])
async def test_long_result_comes_in_complete_pages(call: Call, number: int) -> None:
    pages, offset = [], 0
    while True:
        text, _, note = (await call("recall", number=number, offset=offset)).content.rpartition("\n[")
        pages.append(text)
        assert len(text.encode()) <= 6_000
        if "Next page" not in note:
            break
        offset = int(note.split("offset=")[1].removesuffix(")]"))
    assert "".join(pages) == STORED[number]
    assert len(pages) > 1


async def test_page_with_its_call_and_notes_comes_whole(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "file(…)\n" + "x" * 6_000 + "\n[a hook's remark]"
    monkeypatch.setitem(STORED, 7, page)
    assert (await call("recall", number=7)).content == page


async def test_last_page_says_so(call: Call) -> None:
    content = (await call("recall", number=4, offset=15_992)).content
    assert content == "0001999\n\n[characters 15,992 to 16,000 of 16,000. It ends here.]"


async def test_unknown_number_and_offset_beyond_the_end_are_errors(call: Call) -> None:
    with pytest.raises(ToolError, match="There is no result with this number"):
        await call("recall", number=99)
    with pytest.raises(ToolError, match="5 characters only"):
        await call("recall", number=3, offset=5)


def test_compact_line_names_the_source_and_its_part() -> None:
    assert compact_line("file", {"action": "read", "path": "a.py"}) == "file read a.py"
    ranged = {"action": "read", "path": "a.py", "offset": 10, "limit": 5}
    assert compact_line("file", ranged) == "file read a.py from 10, at most 5"
    assert compact_line("file", {"action": "move", "path": "a", "to": "b"}) == "file move a → b"


def test_compact_line_of_a_removed_tool_has_its_name_and_arguments() -> None:
    assert compact_line("gone", {"x": 1, "y": "{x}"}) == "gone x=1 y={x}"


def test_braces_in_arguments_are_not_expanded() -> None:
    assert compact_line("shell", {"command": "echo {command} [a]"}) == "shell: echo {command} [a]"


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        (
            "match",
            {"action": "grep", "pattern": "x+", "path": "src", "glob": "*.py"},
            "match grep x+ in src, files *.py",
        ),
        ("match", {"action": "glob", "pattern": "*.md"}, "match glob *.md"),
        (
            "search",
            {"type": "news", "query": "tax", "site": "a.org", "since": "2w"},
            "search news: tax, site a.org, since 2w",
        ),
        ("browser", {"action": "input", "ref": "e3", "text": "Berlin"}, "browser input e3: Berlin"),
        ("browser", {"action": "visit", "url": "https://a.org"}, "browser visit https://a.org"),
        (
            "plan",
            {"action": "update", "steps": [{"title": "Look", "status": "done"}, {"title": "Mend"}]},
            "plan update: Look, Mend",
        ),
        ("plan", {"action": "advance"}, "plan advance"),
        ("job", {"action": "write", "id": 2, "input": "yes"}, "job write 2: yes"),
        ("fetch_url", {"url": "https://a.org", "offset": 500}, "fetch_url https://a.org from 500"),
        ("slides", {"path": "a.pptx", "title": "Plan"}, "slides a.pptx: Plan"),
    ],
)
def test_compact_lines_have_the_essential_arguments(name: str, arguments: dict[str, Any], line: str) -> None:
    assert compact_line(name, arguments) == line


async def test_each_page_reports_a_lost_middle(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    gap = clipped.gap_line(lines=5, all_lines=2_005, size=40, whole_size=16_040)
    monkeypatch.setitem(STORED, 6, f"{STORED[4]}{gap}\n")
    first = (await call("recall", number=6)).content
    assert "[… 5 of" not in first
    assert " 5 of 2,005 lines (40 of 16,040 bytes) of output were not kept. Next page: " in first

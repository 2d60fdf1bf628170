"""The tool `file` reads several files in one call: each under its name, page by page in their order."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.pictures import picture
from tests.tools_app.conftest import Call
from tools_app.contract import ToolContext, registry
from tools_app.errors import InvalidArguments, ToolError
from tools_app.files import Workspace
from tools_app.sandbox import Mask
from tools_app.tools.file_arguments import FileArguments


def read(context: ToolContext, **arguments: Any) -> Any:
    return registry.get("file").handler(FileArguments(action="read", **arguments), context)


async def test_each_file_is_headed_by_its_name(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.py", b"one\n")
    workspace.write_bytes("src/b.py", b"two\n")
    both = await call("file", action="read", paths=["src/b.py", "a.py"])
    assert both.content == "==> src/b.py <==\n     1\ttwo\n==> a.py <==\n     1\tone"


async def test_patterns_name_files_also_as_path(call: Call, workspace: Workspace) -> None:
    for name in ("b.py", "a.py", "c.txt", "src/d.py"):
        workspace.write_bytes(name, b"x\n")
    for arguments in ({"paths": ["*.py"]}, {"path": "*.py"}, {"path": ["a.py", "b.py", "src/*.py"]}, {"paths": "*.py"}):
        found = await call("file", action="read", **arguments)
        assert re.findall("==> (.*) <==", found.content) == ["a.py", "b.py", "src/d.py"]
    with pytest.raises(ToolError, match="No file matches"):
        await call("file", action="read", paths=["*.rs"])


async def test_a_file_whose_name_looks_like_a_pattern_is_that_file(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("page[id].tsx", b"x\n")
    assert (await call("file", action="read", path="page[id].tsx")).content == "     1\tx"


async def read_on(context: ToolContext, **arguments: Any) -> list[str]:
    """Return the pages of a first call and of the one next call that each page names."""
    pages: list[str] = []
    while arguments:
        page = (await read(context, **arguments)).content
        assert len(page.encode()) <= context.page_bytes
        calls = re.findall(r"Next page: file\(action=\"read\", (.*)\)\]$", page, re.MULTILINE)
        assert len(calls) <= 1
        names = re.findall(r"(\w+)=(.+?)(?:, (?=\w+=)|$)", calls[0]) if calls else []
        arguments = {name: json.loads(value) for name, value in names}
        pages.append(page)
    return pages


def numbered(text: str) -> list[str]:
    return [f"{number:6}\t{line}" for number, line in enumerate(text.splitlines(), 1)]


@pytest.mark.parametrize("paths", [["*.py"], [f"{name}.py" for name in "abcdefgh"], ["a.py", "[b-e].py", "[f-z].py"]])
async def test_one_chain_of_calls_reads_all_files(
    tool_context: ToolContext, workspace: Workspace, paths: list[str]
) -> None:
    texts = {
        f"{name}.py": "".join(f"line {number} of {name}\n" for number in range(count))
        for name, count in zip("abcdefgh", (20, 900, 0, 3, 150, 40, 700, 1), strict=True)
    }
    for name, text in texts.items():
        workspace.write_bytes(name, text.encode())
    pages = await read_on(replace(tool_context, page_bytes=6_000), paths=paths)
    shown: dict[str, list[str]] = {name: [] for name in texts}
    for page in pages:
        for name, part in re.findall(r"^==> (.*) <==\n([^=]*)", page, re.MULTILINE):
            shown[name] += re.findall(r"^ *\d+\t.*$", part, re.MULTILINE)
    assert shown == {name: numbered(text) for name, text in texts.items()}
    assert len(pages) <= sum(len("\n".join(lines)) for lines in shown.values()) // 5_000 + 1
    assert re.findall("==> (.*) <==", pages[0]) == ["a.py", "b.py"]
    assert re.search(r"^\[to come: c.py, d.py, e.py, f.py, g.py, h.py, [\d.]+ kB\]$", pages[0], re.MULTILINE)


async def test_a_small_file_is_not_begun_at_the_end_of_a_page(tool_context: ToolContext, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"a line of ten\n" * 170)
    workspace.write_bytes("b.txt", b"a line of ten\n" * 100)
    first, second = await read_on(replace(tool_context, page_bytes=4_500), paths=["a.txt", "b.txt"])
    assert "<==" in first
    assert "==> b.txt" not in first
    assert first.endswith('\n[Next page: file(action="read", path="b.txt", offset=1)]\n[to come: b.txt, 1.4 kB]')
    assert second.count("a line of ten") == 100


async def test_many_files_to_come_are_named_in_a_short_line(tool_context: ToolContext, workspace: Workspace) -> None:
    for number in range(90):
        workspace.write_bytes(f"{number:02}.txt", b"a line\n" * 100)
    pages = await read_on(replace(tool_context, page_bytes=4_000), paths=["*.txt"])
    headed = [name for page in pages for name in re.findall("==> (.*) <==", page)]
    assert list(dict.fromkeys(headed)) == [f"{number:02}.txt" for number in range(90)]
    last = pages[0].splitlines()[-1]
    assert re.fullmatch(r"\[to come: 0[23]\.txt, .* and \d\d more, \d+(\.\d)? kB\]", last)
    assert len(last) < 400


@pytest.mark.parametrize(("bounds", "shown"), [({"limit": 2}, ["1", "2"]), ({"offset": -2}, ["99", "100"])])
async def test_a_limit_is_for_each_file(
    tool_context: ToolContext, workspace: Workspace, bounds: dict[str, int], shown: list[str]
) -> None:
    for number in range(60):
        workspace.write_bytes(f"{number:02}.txt", b"a line\n" * 100)
    pages = await read_on(replace(tool_context, page_bytes=4_000), paths=["*.txt"], **bounds)
    assert re.findall(r"^ *(\d+)\ta line$", "\n".join(pages), re.MULTILINE) == shown * 60
    assert len(pages) > 1


async def test_a_file_that_cannot_be_read_does_not_fail_the_others(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"one\n")
    workspace.write_bytes("bin", b"\0\1\2")
    both = await call("file", action="read", paths=["a.txt", "no.txt", "bin"])
    assert both.status == "succeeded"
    assert "==> no.txt <==\nThere is no" in both.content
    assert "==> bin <==\nbin is binary" in both.content
    assert (await call("file", action="read", paths=["no.txt"])).status == "failed"


async def test_pictures_among_them_are_seen_but_a_few_only(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"one\n")
    for number in range(6):
        workspace.write_bytes(f"{number}.png", picture())
    some = await call("file", action="read", paths=["a.txt", "*.png"])
    assert list(some.images) == ["0.png", "1.png", "2.png", "3.png"]
    assert "only the first 4 pictures are shown" in some.content
    assert "==> a.txt <==\n     1\tone" in some.content


async def test_files_hidden_from_commands_match_no_pattern(tool_context: ToolContext, workspace: Workspace) -> None:
    for name in ("a.env", "b.txt", "secret/c.txt"):
        workspace.write_bytes(name, b"x\n")
    context = replace(tool_context, mask=lambda: Mask(hidden=("a.env", "secret")))
    text = (await read(context, paths=["{a.env,*.txt}"])).content
    assert re.findall("==> (.*) <==", text) == ["b.txt"]


async def test_paths_belong_to_read_and_one_of_both_is_required(call: Call) -> None:
    with pytest.raises(InvalidArguments, match="paths belongs to read"):
        await call("file", action="write", paths=["a"], content="x")
    with pytest.raises(InvalidArguments, match="path: name a file"):
        await call("file", action="read")

"""The tool `file` reads several files in one call: each under its name, in fair parts of a page."""

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
from tools_app.tools.file import FileArguments


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


async def test_short_files_leave_their_part_to_long_ones(tool_context: ToolContext, workspace: Workspace) -> None:
    workspace.write_bytes("long.txt", b"a line of ten\n" * 5_000)
    workspace.write_bytes("longer.txt", b"a line of ten\n" * 9_000)
    workspace.write_bytes("short.txt", b"short\n")
    page = replace(tool_context, page_bytes=6_000)
    text = (await read(page, paths=["long.txt", "short.txt", "longer.txt"])).content
    assert len(text.encode()) <= 6_000
    parts = dict(zip(re.findall("==> (.*) <==", text), re.split("==> .* <==\n", text)[1:], strict=True))
    assert parts["short.txt"] == "     1\tshort\n"
    assert 2_500 < len(parts["long.txt"]) < 3_100
    assert 2_500 < len(parts["longer.txt"]) < 3_100
    for name in ("long.txt", "longer.txt"):
        assert re.search(rf'Next page: file\(action="read", path="{name}", offset=\d+\)', parts[name])


async def test_files_without_a_part_are_named(tool_context: ToolContext, workspace: Workspace) -> None:
    for number in range(40):
        workspace.write_bytes(f"{number:02}.txt", b"a line\n" * 100)
    text = (await read(replace(tool_context, page_bytes=4_000), paths=["*.txt"])).content
    assert len(text.encode()) <= 4_000
    headed = re.findall("==> (.*) <==", text)
    assert headed == [f"{number:02}.txt" for number in range(6)]
    assert '[not shown: file(action="read", paths=["06.txt", "07.txt"' in text
    assert text.endswith("and 14 more]")


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

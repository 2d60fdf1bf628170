"""Tests of the tool `file`, called as a model calls it."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tools_app.conftest import Call
from tools_app.contract import Danger, Judgement, ToolContext, base, registry
from tools_app.contract.registry import compact_line
from tools_app.errors import InvalidArguments, OutsideWorkspace, ToolError
from tools_app.files import FileHistory, Workspace
from tools_app.tools.file_arguments import FileArguments


async def test_written_file_is_read_with_line_numbers(call: Call) -> None:
    written = await call("file", action="write", path="notes/plan.md", content="# Plan\nstep one\n")
    read = await call("file", action="read", path="notes/plan.md")
    assert written.content == "Created notes/plan.md: 2 lines, 16 bytes."
    assert read.content == "     1\t# Plan\n     2\tstep one"


async def test_partial_read_names_the_next_call(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("long.txt", "".join(f"line {n}\n" for n in range(1, 101)).encode())
    read = await call("file", action="read", path="long.txt", offset=10, limit=3)
    assert read.content.splitlines() == [
        "    10\tline 10",
        "    11\tline 11",
        "    12\tline 12",
        "[lines 10 to 12 of 100; the next one is offset=13]",
    ]
    last = await call("file", action="read", path="long.txt", offset="99")
    assert last.content == "    99\tline 99\n   100\tline 100\n[lines 99 to 100 of 100: the end of the file]"


async def test_page_has_whole_lines_and_the_next_call(
    tool_context: ToolContext, call: Call, workspace: Workspace
) -> None:
    workspace.write_bytes("long.txt", b"x\n" * 2500)
    read = registry.get("file").handler
    first = (await read(FileArguments(action="read", path="long.txt"), replace(tool_context, page_bytes=1000))).content
    *lines, words = first.splitlines()
    assert lines == [f"{n:6}\tx" for n in range(1, len(lines) + 1)]
    assert 800 < len(first) <= 1000
    following = len(lines) + 1
    hint = f'file(action="read", path="long.txt", offset={following})'
    assert words == f"[lines 1 to {len(lines)} of 2,500. Next page: {hint}]"
    asked = FileArguments(action="read", path="long.txt", offset=following, limit=300)
    words = (await read(asked, replace(tool_context, page_bytes=1000))).content.splitlines()[-1]
    left = 300 - int(words.split("offset=")[1].split(",")[0]) + following
    assert words.endswith(f", limit={left})]"), "the rest of the range that was asked for"


@pytest.mark.parametrize(
    ("offset", "limit", "shown"),
    [
        (-2, None, ["    99\tline 99", "   100\tline 100", "[lines 99 to 100 of 100: the end of the file]"]),
        (-2, 1, ["    99\tline 99", "[lines 99 to 99 of 100; the next one is offset=100]"]),
        (-1000, 1, ["     1\tline 1", "[lines 1 to 1 of 100; the next one is offset=2]"]),
    ],
)
@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "utf-8-sig"])
async def test_negative_offset_reads_the_end(
    call: Call, workspace: Workspace, codec: str, offset: int, limit: int | None, shown: list[str]
) -> None:
    lines = "\n".join(f"line {n}" for n in range(1, 101))
    for end in ("", "\n"):
        workspace.write_bytes("long.txt", (lines + end).encode(codec))
        result = await call("file", action="read", path="long.txt", offset=offset, limit=limit)
        assert result.content.splitlines() == shown


async def test_end_of_a_short_or_empty_file_is_all_of_it(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("empty.txt", b"")
    workspace.write_bytes("short.txt", b"one\ntwo\n")
    assert (await call("file", action="read", path="empty.txt", offset=-5)).content == "(empty file)"
    assert (await call("file", action="read", path="short.txt", offset=-5)).content == "     1\tone\n     2\ttwo"


async def test_end_of_a_large_file_is_read(call: Call, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.write_bytes("large.log", b"0123456789\n" * 1_000_000)
    read = await call("file", action="read", path="large.log", offset=-1)
    assert read.content.splitlines()[0] == "1000000\t0123456789"
    monkeypatch.setattr("tools_app.files.text_page._MAX_SECONDS", 0.0)
    with pytest.raises(ToolError, match="too long to be read from its end here. Use tail"):
        await call("file", action="read", path="large.log", offset=-1)


async def test_distant_line_of_a_huge_file_is_refused(
    call: Call, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools_app.files.text_page._MAX_SECONDS", 0.05)
    workspace.write_bytes("huge.txt", b"\n" * 5_000_000)
    with pytest.raises(ToolError, match=r"Line 5000000 is too far in this file"):
        await call("file", action="read", path="huge.txt", offset=5_000_000)
    assert "of more than" in (await call("file", action="read", path="huge.txt", limit=3)).content


async def test_offset_beyond_the_end_is_an_error_with_the_length(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("short.txt", b"one\ntwo")
    with pytest.raises(ToolError, match=r"no line 9: the file has 2"):
        await call("file", action="read", path="short.txt", offset=9)


async def test_empty_file_is_reported(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("empty.txt", b"")
    assert (await call("file", action="read", path="empty.txt")).content == "(empty file)"


async def test_line_longer_than_a_page_continues_with_correct_numbers(
    tool_context: ToolContext, workspace: Workspace
) -> None:
    wide = "words, " * 500
    workspace.write_bytes("wide.txt", f"{'é' * 300}\r\n{wide}\nend\n".encode())
    read, small = registry.get("file").handler, replace(tool_context, page_bytes=1000)
    shown, arguments = "", {}
    for _ in range(10):
        page = (await read(FileArguments(action="read", path="wide.txt", **arguments), small)).content
        lines, _, words = page.partition("\n[")
        shown += lines + "\n"
        if "Next page" not in words:
            break
        arguments = {name: int(number) for name, number in re.findall(r"(offset|skip)=(\d+)", words)}
    assert words == "lines 2 to 3 of 3: the end of the file]", page
    assert shown.splitlines()[0] == "     1\t" + "é" * 300
    assert "".join(line[7:] for line in shown.splitlines() if line.startswith("     2\t")) == wide
    assert shown.splitlines()[-1] == "     3\tend"


async def test_a_large_file_is_read_from_anywhere(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("large.log", b"0123456789\n" * 1_000_000)
    read = await call("file", action="read", path="large.log", offset=900_000, limit=1)
    words = "[lines 900,000 to 900,000 of 1,000,000; the next one is offset=900001]"
    assert read.content.splitlines() == ["900000\t0123456789", words]


@pytest.mark.parametrize(
    ("name", "data", "shown"),
    [
        ("song.mp3", b"ID3\4\0\0\0\0\0\0", "song.mp3 is binary (audio/mpeg, 10 B): no text to show."),
        ("data.bin", bytes(range(128, 256)) * 8, "data.bin is binary (application/octet-stream, 1.0 kB)"),
    ],
)
async def test_a_binary_file_shows_kind_and_size(
    call: Call, workspace: Workspace, name: str, data: bytes, shown: str
) -> None:
    workspace.write_bytes(name, data)
    assert (await call("file", action="read", path=name)).content.startswith(shown)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
        ("photo.txt", b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
        ("moving.gif", b"GIF89a\1\0", "image/gif"),
        ("small.webp", b"RIFF\x1a\0\0\0WEBPVP8L", "image/webp"),
    ],
)
async def test_picture_is_returned_as_an_image(
    call: Call, workspace: Workspace, name: str, data: bytes, kind: str
) -> None:
    workspace.write_bytes(name, data)
    result = await call("file", action="read", path=name)
    assert result.images == [name]
    assert result.content.startswith(f"{name} is a picture ({kind}, ")


async def test_audio_with_a_webp_like_header_is_not_a_picture(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("sound.wav", b"RIFF\x1a\0\0\0WAVEfmt ")
    assert not (await call("file", action="read", path="sound.wav")).images


async def test_invalid_utf8_is_shown_with_replacement_characters(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("latin.txt", "Grüße aus der Küche".encode("latin-1") + b" " * 9000 + b"\0end")
    content = (await call("file", action="read", path="latin.txt", limit=1)).content
    assert content.startswith("     1\tGr\ufffd\ufffde aus der K\ufffdche")
    assert "\0" not in content


async def test_edit_replaces_one_match_and_stores_a_diff(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("code.py", b"".join(b"line %d\n" % n for n in range(1, 41)))
    result = await call("file", action="edit", path="code.py", old="line 20\n", new="twenty\nand more\n")
    assert result.content == "Edited code.py (1 place, line 20). It has 41 lines, 319 bytes now."
    assert result.metadata["diff"].splitlines() == [
        "--- code.py",
        "+++ code.py",
        "@@ -17,7 +17,8 @@",
        " line 17",
        " line 18",
        " line 19",
        "-line 20",
        "+twenty",
        "+and more",
        " line 21",
        " line 22",
        " line 23",
    ]


async def test_an_edit_that_is_not_found_shows_the_nearest_lines(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("code.py", b"import os\n\ndef total(items):\n    return sum(items)\n")
    with pytest.raises(ToolError) as failed:
        await call("file", action="edit", path="code.py", old="def total(item):\n    return sum(item)", new="x")
    assert str(failed.value).startswith("old occurs 0 times")
    assert str(failed.value).endswith("     3\tdef total(items):\n     4\t    return sum(items)")


async def test_ambiguous_edit_changes_nothing_and_lists_matches(call: Call, workspace: Workspace) -> None:
    text = b"x = 1\ny = 2\nx = 1\n"
    workspace.write_bytes("code.py", text)
    with pytest.raises(ToolError, match=r"occurs 2 times(.|\n)*     1\tx = 1\n     3\tx = 1"):
        await call("file", action="edit", path="code.py", old="x = 1", new="x = 9")
    assert workspace.read_bytes("code.py") == text
    result = await call("file", action="edit", path="code.py", old="x = 1", new="x = 9", replace_all=True)
    assert "2 places, the first in line 1" in result.content
    assert workspace.read_bytes("code.py") == b"x = 9\ny = 2\nx = 9\n"


async def test_overlapping_occurrences_are_ambiguous_too(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"aaa")
    with pytest.raises(ToolError, match="occurs 2 times"):
        await call("file", action="edit", path="a.txt", old="aa", new="b")


@pytest.mark.parametrize("old", ["one\ntwo", "one\r\ntwo"])
async def test_an_edit_keeps_the_line_endings_of_windows(call: Call, workspace: Workspace, old: str) -> None:
    workspace.write_bytes("dos.txt", b"zero\r\none\r\ntwo\r\nthree\r\n")
    await call("file", action="edit", path="dos.txt", old=old, new="1\n2\n2b")
    assert workspace.read_bytes("dos.txt") == b"zero\r\n1\r\n2\r\n2b\r\nthree\r\n"


async def test_an_edit_of_one_line_in_a_windows_file_adds_its_line_endings(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("dos.txt", b"one\r\ntwo\r\n")
    await call("file", action="edit", path="dos.txt", old="two", new="2\n3")
    assert workspace.read_bytes("dos.txt") == b"one\r\n2\r\n3\r\n"


async def test_edit_preserves_invalid_utf8(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("mixed.txt", b"\xfe\xe9\r\nname = old\n\xe9")
    await call("file", action="edit", path="mixed.txt", old="old", new="new")
    assert workspace.read_bytes("mixed.txt") == b"\xfe\xe9\r\nname = new\n\xe9"


async def test_edit_result_is_bounded(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"a" * 100_000)
    with pytest.raises(ToolError, match="too large"):
        await call("file", action="edit", path="a.txt", old="a", new="b" * 1000, replace_all=True)
    assert workspace.read_bytes("a.txt") == b"a" * 100_000


async def test_overwriting_a_file_reports_it_with_a_diff(call: Call) -> None:
    await call("file", action="write", path="a.txt", content="one\ntwo\n")
    result = await call("file", action="write", path="a.txt", content="one\n2\n")
    assert result.content == "Replaced a.txt: 2 lines, 6 bytes."
    assert result.metadata["diff"].splitlines()[3:] == [" one", "-two", "+2"]


async def test_a_binary_file_is_replaced_without_a_diff(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.bin", b"\0\1\2")
    result = await call("file", action="write", path="a.bin", content="text")
    assert "diff" not in result.metadata


async def test_the_diff_is_bounded(call: Call) -> None:
    long = "".join(f"{n} " + "x" * 1000 + "\n" for n in range(5000))
    created = await call("file", action="write", path="a.txt", content=long)
    replaced = await call("file", action="write", path="a.txt", content=long.replace("x", "y"))
    for result in (created, replaced):
        lines = result.metadata["diff"].split("\n")
        assert len(lines) == 200
        assert max(map(len, lines)) <= 300
        assert lines[-1] == "… (more changes follow)"


async def test_appending_adds_to_the_end(call: Call, workspace: Workspace) -> None:
    await call("file", action="append", path="log.txt", content="one\n")
    result = await call("file", action="append", path="log.txt", content="two\n")
    assert result.content == "Appended 1 line, 4 bytes to log.txt. It has 2 lines, 8 bytes now."
    assert workspace.read_bytes("log.txt") == b"one\ntwo\n"


async def test_file_tool_lists_moves_and_deletes(call: Call, workspace: Workspace) -> None:
    await call("file", action="write", path="a/one.txt", content="1")
    await call("file", action="move", path="a/one.txt", to="b/two.txt")
    listed = await call("file", action="list", path=".")
    assert listed.content == "a/\nb/"
    assert (await call("file", action="list", path="a")).content == "(empty)"
    await call("file", action="delete", path="b")
    assert os.listdir(workspace.root) == ["a"]


async def test_end_of_a_list_is_named(call: Call, workspace: Workspace) -> None:
    for number in range(5):
        workspace.write_bytes(f"{number}.txt", b"")
    listed = await call("file", action="list", path=".", offset=-2)
    assert listed.content == "3.txt (0 B)\n4.txt (0 B)\n[entries 4 to 5 of 5: the end of the list]"


async def test_a_long_list_comes_in_pages(tool_context: ToolContext, workspace: Workspace) -> None:
    workspace.make_root()
    for number in range(510):
        (workspace.root / f"{number:04}").touch()
    small, listed, offset = replace(tool_context, page_bytes=3_000), [], 1
    while offset:
        arguments = FileArguments(action="list", path=".", offset=offset)
        content = (await registry.get("file").handler(arguments, small)).content
        assert len(content.encode()) <= 3_000
        listed += re.findall(r"^(\d{4}) \(0 B\)$", content, re.MULTILINE)
        hint = re.search(r'of 510[.] Next page: file[(]action="list", path="[.]", offset=(\d+)[)]\]$', content)
        offset = int(hint[1]) if hint else 0
    assert listed == [f"{number:04}" for number in range(510)]


async def test_internal_folders_are_listed_only_by_path(call: Call, workspace: Workspace) -> None:
    for path in ("a.txt", ".results/call_1.txt", "sub/.results/b.txt"):
        workspace.write_bytes(path, b"x")
    assert (await call("file", action="list", path=".")).content == "a.txt (1 B)\nsub/"
    assert workspace.overview().text == "a.txt (1 B)\nsub/ (1 inside)\n  .results/"
    assert (await call("file", action="list", path=".results")).content == "call_1.txt (1 B)"
    assert (await call("file", action="read", path=".results/call_1.txt")).content.endswith("x")


@pytest.mark.parametrize("action", ["read", "write", "append", "edit", "list", "move", "delete"])
async def test_no_action_leaves_the_workspace(call: Call, action: str) -> None:
    fitting = {
        "write": {"content": "x"},
        "append": {"content": "x"},
        "edit": {"old": "a", "new": "b"},
        "move": {"to": "x"},
    }
    with pytest.raises(OutsideWorkspace):
        await call("file", action=action, path="../outside.txt", **fitting.get(action, {}))


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"action": "write", "path": "a"}, "content is required for write"),
        ({"action": "edit", "path": "a", "old": "x"}, "new is required for edit"),
        ({"action": "edit", "path": "a", "old": "", "new": "x"}, "old must not be empty"),
        ({"action": "edit", "path": "a", "old": "x", "new": "x"}, "new must differ"),
        ({"action": "move", "path": "a"}, "to is required for move"),
        ({"action": "read", "path": "a", "content": "x"}, "content belongs to write and append"),
        ({"action": "read", "path": "a", "limit": 0}, "limit: "),
        ({"action": "read", "path": ""}, "path: "),
        ({"action": "write", "path": "a", "content": "\ud800"}, "surrogates not allowed"),
        ({"action": "touch", "path": "a"}, "action: "),
    ],
)
async def test_invalid_arguments_are_refused(call: Call, arguments: dict[str, object], fault: str) -> None:
    with pytest.raises(InvalidArguments, match=re.escape(fault)):
        await call("file", **arguments)


async def test_empty_arguments_of_other_actions_are_accepted(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"x")
    result = await call("file", action="read", path="a.txt", content="", old=None, new="", to=None, replace_all=False)
    assert result.content == "     1\tx"


@pytest.mark.parametrize(
    ("action", "danger"),
    [("read", Danger.SAFE), ("list", Danger.SAFE), ("write", Danger.MODERATE), ("delete", Danger.MODERATE)],
)
def test_reading_is_safe_and_changing_is_moderate(
    action: str, danger: Danger, workspace: Workspace, tmp_path: Path
) -> None:
    definition = registry.get("file")
    content = ', "content": "x"' if action == "write" else ""
    arguments = base.read_arguments(definition, f'{{"action": "{action}", "path": "a"{content}}}')
    workspace.history = FileHistory(tmp_path / "history")
    workspace.write_bytes("a", b"x")
    judgement = definition.judgement(arguments, workspace)
    assert judgement.danger is danger
    assert bool(judgement.rule) == (danger > Danger.SAFE)


@pytest.mark.parametrize("path", ["a", "./a/", "/workspace/a", "b/../a", "a/deep"])
def test_deleting_files_without_history_is_dangerous(path: str, workspace: Workspace, tmp_path: Path) -> None:
    definition = registry.get("file")
    workspace.write_bytes("a/deep/x.txt", b"x")
    workspace.write_bytes("a/deep/.git/HEAD", b"x")
    workspace.write_bytes("a/deep/node_modules/x.js", b"x")  # can be recreated
    (workspace.root / "link").symlink_to(workspace.root / "a")

    def judged(path: str) -> Judgement:
        return definition.judgement(
            base.read_arguments(definition, f'{{"action": "delete", "path": "{path}"}}'), workspace
        )

    assert judged("a/deep/x.txt").danger is Danger.DANGEROUS  # there is no history
    workspace.history = FileHistory(tmp_path / "history")
    assert judged(path).danger is Danger.DANGEROUS
    assert judged(path).rule == f"deletes {path}, of which the file history does not keep a/deep/.git/"
    for other in (f"{path}/../../a/deep/x.txt", "link", "missing", ".."):
        assert judged(other).danger is Danger.MODERATE
    workspace.delete("a/deep/.git")
    assert judged(path).danger is Danger.MODERATE


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"action": "read", "path": "notes/plan.md"}, "file read notes/plan.md"),
        ({"action": "read", "path": "a.py", "offset": 10, "limit": 5}, "file read a.py from 10, at most 5"),
        ({"action": "move", "path": "a", "to": "b"}, "file move a → b"),
    ],
)
def test_old_calls_become_one_line(arguments: dict[str, object], line: str) -> None:
    assert compact_line("file", arguments) == line

"""Tests of the tool `match` with calls like a model's: its results, its exclusions, and its end in all cases."""

import asyncio
import codecs
import json
import os
import re
import signal
import subprocess
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal

import pytest

from tests.tools_app import documents
from tests.tools_app.conftest import Call
from tests.waiting import takes_less_than, until
from tools_app.contract import ToolContext, base, registry
from tools_app.errors import InvalidArguments, OutsideWorkspace, ToolError
from tools_app.files import Workspace
from tools_app.matching import in_documents
from tools_app.matching.patterns import MatchRequest
from tools_app.sandbox import ProcessIdentity
from tools_app.tools import match

CATASTROPHE = "(a|a)*b"  # exponential time in the number of a's


def fill(workspace: Workspace, *paths: str) -> None:
    """Write files that contain their own path, each newer than the previous one."""
    for age, path in enumerate(paths):
        workspace.write_bytes(path, f"{path}\n".encode())
        os.utime(workspace.root / path, (1_000_000 + age, 1_000_000 + age))


def seen_by_git(folder: Path, home: Path) -> list[str]:
    """Return the files that git does not ignore."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words: str) -> str:
        command = ["git", "-c", "core.quotePath=false", *words]
        return subprocess.run(command, check=True, cwd=folder, env=environment, capture_output=True).stdout.decode()

    git("init", "-q")
    return git("ls-files", "--others", "--exclude-standard").splitlines()


def cpu_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def is_there(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


async def found(call: Call, **arguments: object) -> list[str]:
    return (await call("match", **{"action": "glob"} | arguments)).content.splitlines()


async def test_glob_finds_names_at_any_depth_newest_first(call: Call, workspace: Workspace) -> None:
    fill(workspace, "a.py", "src/b.py", "src/deep/c.py", "src/d.txt")
    assert await found(call, pattern="*.py") == ["src/deep/c.py", "src/b.py", "a.py"]


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src/*.ts", None, ["src/a.ts"]),
        ("./src/*.ts", None, ["src/a.ts"]),
        ("/workspace/src/*.ts", None, ["src/a.ts"]),
        ("src/**/*.{ts,tsx}", None, ["src/a.ts", "src/deep/b.tsx"]),
        ("**/b.*", None, ["src/deep/b.tsx"]),
        ("src/**", None, ["src/a.ts", "src/deep/b.tsx"]),
        ("src/", None, ["src/a.ts", "src/deep/b.tsx"]),
        ("deep/*", "src", ["src/deep/b.tsx"]),
        ("*", "/workspace/src/deep/", ["src/deep/b.tsx"]),
        ("?.t[sx]", None, ["src/a.ts"]),
        ("[!a].*", None, ["README.md", "src/deep/b.tsx"]),
        ("a,b", None, ["a,b"]),
        ("nothing", None, ["No match."]),
    ],
)
async def test_glob_patterns(
    call: Call, workspace: Workspace, pattern: str, path: str | None, expected: list[str]
) -> None:
    fill(workspace, "src/a.ts", "src/deep/b.tsx", "a,b", "README.md")
    names = await found(call, pattern=pattern, path=path)
    assert sorted(names) == (["src/deep/b.tsx"] if pattern == "[!a].*" else expected)


@pytest.mark.parametrize(
    "name",
    ["a[1].txt", "app/[id]/page.tsx", "app/[...slug]/page.tsx", "[[...slug]].tsx", "[user-id].py", "b*.md", "q?.md"],
)
async def test_listed_name_is_a_pattern_for_itself(call: Call, workspace: Workspace, name: str) -> None:
    fill(workspace, name, "other/b.txt")
    assert await found(call, pattern=name) == [name]
    assert (await call("match", action="grep", pattern=".", glob=name)).content.splitlines()[0] == name


async def test_brackets_in_names_work_with_stars(call: Call, workspace: Workspace) -> None:
    fill(workspace, "app/[id]/page.tsx", "app/i/page.tsx", "app/x/page.tsx")
    assert sorted(await found(call, pattern="app/[id]/*.tsx")) == ["app/[id]/page.tsx", "app/i/page.tsx"]


async def test_glob_ignores_case_on_request(call: Call, workspace: Workspace) -> None:
    fill(workspace, "ReadMe.MD")
    assert await found(call, pattern="readme.md") == ["No match."]
    assert await found(call, pattern="readme.md", ignore_case=True) == ["ReadMe.MD"]


async def test_grep_shows_lines_with_their_numbers_under_their_file(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("b.txt", b"nothing\nneedle 1\nnothing\n")
    workspace.write_bytes("a/a.txt", b"needle 2\r\n")
    result = await call("match", action="grep", pattern=r"needle \d$")
    assert result.content.splitlines() == ["a/a.txt", "1:needle 2", "b.txt", "2:needle 1"]


async def test_grep_shows_context_once(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"".join(b"%s%d\n" % (b"x" if n in (3, 5, 12) else b"-", n) for n in range(1, 15)))
    result = await call("match", action="grep", pattern="x", context=1)
    assert result.content.splitlines() == [
        "a.txt", "2--2", "3:x3", "4--4", "5:x5", "6--6", "--", "11--11", "12:x12", "13--13",
    ]  # fmt: skip


async def test_grep_searches_only_what_the_glob_allows(call: Call, workspace: Workspace) -> None:
    fill(workspace, "src/a.py", "src/b.md", "c.py")
    result = await call("match", action="grep", pattern=".", path="src", glob="*.py")
    assert result.content.splitlines() == ["src/a.py", "1:src/a.py"]


async def test_grep_accepts_a_single_file(call: Call, workspace: Workspace) -> None:
    fill(workspace, "src/a.py", "src/b.py")
    result = await call("match", action="grep", pattern="SRC", path="src/b.py", ignore_case=True)
    assert result.content.splitlines() == ["src/b.py", "1:src/b.py"]


async def test_grep_shows_the_part_of_a_long_line_around_the_match(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("min.js", b"x" * 5000 + b"needle" + b"y" * 5000)
    line = (await call("match", action="grep", pattern="needle")).content.splitlines()[1]
    assert line == "1:…" + "x" * 100 + "needle" + "y" * 294 + "…"


CODE = b"def f(\n    a,\n    b,\n):\n    return a\n\n\ndef g(a):\n    return a\n"


@pytest.mark.parametrize(
    ("pattern", "context", "expected"),
    [
        (r"def f\(\n    a", 0, ["1:def f(", "2:    a,"]),
        ("def f\\(\n    a", 0, ["1:def f(", "2:    a,"]),
        (r"\):\r?\n +return", 0, ["4:):", "5:    return a", "8:def g(a):", "9:    return a"]),
        (r"(?s)def f.*?\):", 0, ["1:def f(", "2:    a,", "3:    b,", "4:):"]),
        (r"f\([\s\S]*?b", 0, ["1:def f(", "2:    a,", "3:    b,"]),
        (r"^    b,\n", 1, ["2-    a,", "3:    b,", "4-):"]),
        (r"return a$\n\n", 0, ["5:    return a", "6:"]),
        (r"return a\n\Z", 0, ["9:    return a"]),
        (r"a\n\n+def", 1, ["4-):", "5:    return a", "6:", "7:", "8:def g(a):", "9-    return a"]),
        (r"a,$", 0, ["2:    a,"]),
        (r"\s+b", 0, ["3:    b,"]),
        (r"\\n", 0, ["No match."]),
    ],
)
async def test_pattern_with_a_line_end_matches_across_lines(
    call: Call, workspace: Workspace, pattern: str, context: int, expected: list[str]
) -> None:
    for data in (CODE, CODE.replace(b"\n", b"\r\n")):
        workspace.write_bytes("a.py", data)
        lines = (await call("match", action="grep", pattern=pattern, context=context)).content.splitlines()
        assert [line for line in lines if line != "a.py"] == expected


async def test_long_match_is_cut_and_its_end_named(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"begin\n" + b"x\n" * 500 + b"end\nafter\n")
    lines = (await call("match", action="grep", pattern="(?s)begin.*end", context=2)).content.splitlines()
    assert lines[1:3] == ["1:begin", "2:x"]
    assert lines[-2:] == ["30:x", "… (this match goes on to line 502)"]


async def test_matches_across_lines_come_in_pages(call: Call, workspace: Workspace, tool_context: ToolContext) -> None:
    object.__setattr__(tool_context, "page_bytes", 1_000)
    workspace.write_bytes("a.txt", b"".join(b"begin %d\n  end\n\n" % number for number in range(100)))
    workspace.write_bytes("b.pdf", documents.pdf("begin 100\n  end"))
    seen, offset, content = [], 1, ""
    while offset:
        content = (await call("match", action="grep", pattern=r"begin \d+\n *end", offset=offset)).content
        assert len(content.encode()) <= 1_000
        seen += re.findall(r"^\d+:begin (\d+)\n\d+:  ?end$|^1:begin (100)$", content, re.MULTILINE)
        offset = int("".join(re.findall(r"Next page: match.*offset=(\d+)", content)) or 0)
    assert [int(number or other) for number, other in seen] == list(range(101))
    assert content.splitlines()[-1].endswith("to 101: the last ones]")


async def test_many_matches_across_lines_end_in_time(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"\n" * 2_000_000)
    with takes_less_than(20):
        content = (await call("match", action="grep", pattern=r"\n*?")).content
    assert "of 2,000,000. Next page" in content


async def test_grep_names_unsearched_files_with_the_reason(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.bin", b"needle\0")
    workspace.write_bytes("b.txt", b"needle")
    workspace.write_bytes("windows.csv", "needle".encode("utf-16"))
    workspace.write_bytes("other.csv", codecs.BOM_UTF32_BE + "needle".encode("utf-32-be"))
    with (workspace.root / "huge.txt").open("wb") as huge:
        huge.write(b"needle")
        huge.truncate(20_000_000)
    found, not_searched = (await call("match", action="grep", pattern="needle")).content.rsplit("\n", 1)
    assert found == "b.txt\n1:needle\nother.csv\n1:needle\nwindows.csv\n1:needle"
    assert not_searched == "(not searched: a.bin (binary); huge.txt (over 10 MB: use the shell))"
    alone = await call("match", action="grep", pattern="needle", path="a.bin")
    assert alone.content == "No match.\n(not searched: a.bin (binary))"
    assert (await call("match", action="grep", pattern="x", glob="*.txt")).content.count("(") == 2, (
        "only what was asked for"
    )


async def test_list_of_unsearched_files_is_limited(call: Call, workspace: Workspace) -> None:
    for number in range(30):
        workspace.write_bytes(f"{'long' * 50}{number:02}.bin", b"\0")
    content = (await call("match", action="grep", pattern="needle")).content
    assert content.endswith(" and 25 more (binary))")
    assert len(content) < 1000


async def test_server_files_are_searched_only_if_named(call: Call, workspace: Workspace) -> None:
    fill(workspace, "a.txt", "sub/.results/b.txt", ".results/call_1.txt")
    assert await found(call, pattern="*.txt") == ["sub/.results/b.txt", "a.txt"]
    assert "call_1" not in (await call("match", action="grep", pattern="txt")).content
    assert await found(call, pattern="*", path=".results") == [".results/call_1.txt"]
    lines = (await call("match", action="grep", pattern="txt", path=".results/call_1.txt")).content
    assert lines == ".results/call_1.txt\n1:.results/call_1.txt"


@pytest.mark.parametrize("action", ["glob", "grep"])
async def test_pages_contain_each_match_once(
    tool_context: ToolContext, workspace: Workspace, action: Literal["glob", "grep"]
) -> None:
    files = [f"größe {n:03}.txt" for n in range(100)]
    fill(workspace, *files)
    small = replace(tool_context, page_bytes=1_500)
    seen, offset, pages = [], 1, 0
    while offset:
        pattern = "*0??.txt" if action == "glob" else "0..[.]txt"
        arguments = match.MatchArguments(action=action, pattern=pattern, offset=offset)
        content = (await registry.get("match").handler(arguments, small)).content
        *lines, last = content.splitlines()
        assert len(content.encode()) <= 1_500
        hint = re.fullmatch(r"\[matches .* of 100[.] Next page: match[(].*, offset=(\d+)[)]\]", last)
        assert hint or re.fullmatch(r"\[matches \d+ to 100: the last ones\]", last)
        seen += lines
        offset, pages = int(hint[1]) if hint else 0, pages + 1
    assert pages > 1
    if action == "glob":
        assert seen == files[::-1]
    else:
        assert [line for line in seen if line.startswith("1:")] == [f"1:{name}" for name in files]


async def test_hint_for_the_next_page_repeats_the_arguments(tool_context: ToolContext, workspace: Workspace) -> None:
    fill(workspace, *(f"src/{n:03}.py" for n in range(100)))
    arguments = match.MatchArguments(
        action="grep", pattern='src"?', path="src", glob="*.py", ignore_case=True, context=2
    )
    content = (await registry.get("match").handler(arguments, replace(tool_context, page_bytes=1_000))).content
    assert content.rpartition("Next page: ")[2].startswith(
        'match(action="grep", pattern="src\\"?", path="src", glob="*.py", ignore_case=true, context=2, offset='
    )


async def test_grep_output_is_limited(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("wide.txt", (b"x" * 390 + b"\n") * 3000)
    content = (await call("match", action="grep", pattern="x", context=10)).content
    assert len(content) <= 100_000
    assert "of 3,000. Next page: match(" in content


async def test_ignored_files_are_the_same_as_for_git(call: Call, workspace: Workspace, tmp_path: Path) -> None:
    """Compare with git's own answer for the same tree."""
    rules = {
        ".gitignore": "# comment\n*.log\n!keep.log\n/build\nnode_modules/\ndoc/*.tmp\n**/cache/**\na/**/z.txt\n"
        "\\#odd\n\\!odd\ntrailing   \nonly_folder/\n[xy].dat\n[!q]1.dat\nq?.md\nx*/y\n",
        "sub/.gitignore": "!*.log\nlocal.txt\n/anchored\n",
    }
    paths = [
        "a.log", "keep.log", "build/x", "src/build/x", "node_modules/m/i.js", "src/node_modules/i.js", "doc/a.tmp",
        "doc/deep/b.tmp", "cache/x", "src/cache/y/z", "a/z.txt", "a/b/c/z.txt", "z.txt", "#odd", "!odd", "trailing",
        "only_folder", "src/only_folder/x", "x.dat", "z.dat", "q1.dat", "r1.dat", "qa.md", "qab.md", "xx/y", "s/xx/y",
        "sub/a.log", "sub/deep/b.log", "sub/local.txt", "local.txt", "sub/anchored", "sub/deep/anchored", "größe.log",
    ]  # fmt: skip
    for path, text in rules.items():
        workspace.write_bytes(path, text.encode())
    fill(workspace, *paths)
    expected = seen_by_git(workspace.root, tmp_path)
    assert sorted(await found(call, pattern="**")) == sorted(expected)
    assert 5 < len(expected) < len(paths)


async def test_ignore_rules_of_parent_folders_apply(call: Call, workspace: Workspace) -> None:
    fill(workspace, "src/a.log", "src/deep/b.log", "src/deep/c.txt", "src/deep/d.txt")
    workspace.write_bytes(".gitignore", b"*.log\n")
    workspace.write_bytes("src/.gitignore", b"/deep/d.txt\n")
    assert await found(call, pattern="*", path="src/deep") == ["src/deep/c.txt"]


async def test_ignored_folder_can_be_searched_by_name(call: Call, workspace: Workspace) -> None:
    fill(workspace, "node_modules/m/index.js")
    workspace.write_bytes(".gitignore", b"node_modules\n")
    assert await found(call, pattern="*.js") == ["No match."]
    assert await found(call, pattern="*.js", path="node_modules") == ["node_modules/m/index.js"]


async def test_links_and_the_git_folder_are_skipped(call: Call, workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("SECRET")
    fill(workspace, "a.txt", ".git/config")
    (workspace.root / "out").symlink_to(tmp_path)
    (workspace.root / "out.txt").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(workspace.root / "fifo")
    links = "(not searched: out, out.txt (links, which are not followed))"
    assert await found(call, pattern="*") == ["a.txt", links]
    assert await found(call, action="grep", pattern="SECRET") == ["No match.", links]
    with pytest.raises(ToolError, match="symbolic link"):
        await call("match", action="grep", pattern="SECRET", path="out")


@pytest.mark.parametrize("path", ["..", "/etc", "a/../../b"])
async def test_folder_outside_the_workspace_is_refused(call: Call, path: str) -> None:
    with pytest.raises(OutsideWorkspace):
        await found(call, pattern="*", path=path)


async def test_missing_folder_is_reported_in_a_sentence(call: Call) -> None:
    with pytest.raises(ToolError, match=r"There is no src/missing in the workspace\."):
        await found(call, pattern="*", path="src/missing")


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{99999999999}", "*", "(?P<a>", "(" * 900 + ")" * 900])
async def test_invalid_regular_expression_is_reported_in_a_sentence(call: Call, pattern: str) -> None:
    with pytest.raises(ToolError, match="The pattern is not valid"):
        await call("match", action="grep", pattern=pattern)


async def test_grep_arguments_are_refused_for_glob(call: Call) -> None:
    with pytest.raises(InvalidArguments, match="belong to action grep"):
        await found(call, pattern="*", glob="*.py")


async def test_undecodable_file_names_do_not_break_the_answer(call: Call, workspace: Workspace) -> None:
    with open(os.fsencode(workspace.make_root()) + b"/bad\xff\n.txt", "w") as file:  # noqa: ASYNC230
        file.write("needle")
    assert await found(call, pattern="*.txt") == ["bad\\udcff\\n.txt"]
    assert (await call("match", action="grep", pattern="needle")).content.splitlines()[0] == "bad\\udcff\\n.txt"


async def test_catastrophic_pattern_times_out(
    call: Call, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(match, "TIMEOUT_S", 1.0)
    workspace.write_bytes("a.txt", b"a" * 60)
    with takes_less_than(10):
        with pytest.raises(ToolError, match="took over 1 seconds and was stopped"):
            await call("match", action="grep", pattern=CATASTROPHE)


async def test_crash_of_the_search_fails_the_call(workspace: Workspace) -> None:
    query = MatchRequest(root=str(workspace.root / "missing"), action="glob", pattern="*")
    with pytest.raises(ToolError, match="The search failed: FileNotFoundError"):
        await match.search(query, lambda group: None)


async def test_interrupt_kills_the_search_immediately(tool_context: ToolContext, workspace: Workspace) -> None:
    started: list[ProcessIdentity] = []
    running = asyncio.Event()
    context = replace(tool_context, started=lambda group: (started.append(group), running.set()))
    workspace.write_bytes("a.txt", b"a" * 60)
    definition = registry.get("match")
    arguments = base.read_arguments(definition, f'{{"action": "grep", "pattern": "{CATASTROPHE}"}}')
    search = asyncio.ensure_future(definition.handler(arguments, context))
    await asyncio.wait_for(running.wait(), 30)
    # The start takes a tenth of it, so the search is inside the pattern now.
    await asyncio.to_thread(until, lambda: cpu_seconds(started[0].pid) > 0.3)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert not is_there(started[0].pid)


def test_search_ends_by_itself_after_the_server_died(workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"a" * 60)
    query = MatchRequest(root=str(workspace.root), action="grep", pattern=CATASTROPHE, seconds=0.2)
    text = json.dumps(asdict(query)).encode()
    process = subprocess.run(match.COMMAND, input=text, capture_output=True, timeout=20, check=False)
    assert process.returncode == -signal.SIGALRM


@pytest.mark.parametrize("action", ["glob", "grep"])
async def test_search_of_a_huge_tree_returns_partial_results(
    workspace: Workspace, action: Literal["glob", "grep"]
) -> None:
    fill(workspace, *(f"{n:04}.txt" for n in range(2000)))
    query = MatchRequest(
        root=str(workspace.root), action=action, pattern="txt" if action == "grep" else "*", seconds=0.005
    )
    answer = await match.search(query, lambda group: None)
    assert not answer.is_complete
    assert answer.total_matches < 2000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_root_searches_as_the_owner_of_the_workspace(call: Call, workspace: Workspace) -> None:
    workspace.owner = (65_531, 65_531)
    workspace.write_bytes("mine.txt", b"needle")
    (workspace.root / "roots.txt").write_bytes(b"needle")
    (workspace.root / "roots.txt").chmod(0o600)
    content = (await call("match", action="grep", pattern="needle")).content
    assert content == "mine.txt\n1:needle\n(not searched: roots.txt (not readable))"


ODD = "straße WORD".encode("cp1252") + b"\n"
ODD_FILES = {
    "cp1252.txt": ODD * 5,
    "latin1.txt": b"WORD \x81 \xe4\n",
    "utf16le.txt": codecs.BOM_UTF16_LE + "WORD zwei\n".encode("utf-16-le"),
    "utf16be.txt": codecs.BOM_UTF16_BE + "WORD zwei\n".encode("utf-16-be"),
    "utf16.txt": "WORD without a mark\n".encode("utf-16-le"),
    "utf32le.txt": codecs.BOM_UTF32_LE + "WORD\n".encode("utf-32-le"),
    "utf32be.txt": codecs.BOM_UTF32_BE + "WORD\n".encode("utf-32-be"),
    "damaged.txt": "WORD größe größe größe\n".encode() + b"\xff\n",
    "10.00.00\u202fAM.txt": b"WORD\n",
    "no\u00a0break.txt": b"WORD\n",
    "soft\u00adhyphen.txt": b"WORD\n",
    "family \U0001f468\u200d\U0001f469\u200d\U0001f467.txt": b"WORD\n",
    "tab\t.txt": b"WORD\n",
    "line\n.txt": b"WORD\n",
    "bytes\udcff.txt": b"WORD\n",
}
# The search process, except that imports fail after it has dropped its privileges.
CLOSED = """
import sys
sys.path.append(sys.argv[1])
from tools_app.matching import worker
def drop_privileges(uid, gid):
    def refuse(event, arguments):
        if event == "import":
            raise ImportError(f"{arguments[0]} is in a closed folder")
    sys.addaudithook(refuse)
worker.drop_privileges = drop_privileges
worker.main()
"""


def fill_with_unusual_files(workspace: Workspace) -> None:
    root = os.fsencode(workspace.make_root())
    for name, data in ODD_FILES.items():
        with open(root + b"/" + os.fsencode(name), "wb") as file:
            file.write(data)


@pytest.mark.parametrize("pattern", ["WORD", r"\N{LATIN CAPITAL LETTER W}ORD", "WORD|[[a]"])
def test_search_imports_nothing_after_dropping_privileges(workspace: Workspace, pattern: str) -> None:
    fill_with_unusual_files(workspace)
    query = MatchRequest(root=str(workspace.root), action="grep", pattern=pattern, owner=(65_531, 65_531))
    command = [CLOSED if word == match._START else word for word in match.COMMAND]
    done = subprocess.run(command, input=json.dumps(asdict(query)).encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    answer = json.loads(done.stdout)
    assert (answer["unsearched"], answer["error"]) == ([], "")
    files = [line for line in answer["lines"] if line.endswith(".txt")]
    assert len(files) == len(ODD_FILES)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_root_reads_every_encoding_and_name_and_documents(call: Call, workspace: Workspace) -> None:
    workspace.owner = (65_531, 65_531)
    fill_with_unusual_files(workspace)
    workspace.write_bytes("a.pdf", documents.pdf("a WORD in a document"))
    workspace.write_bytes("b.eml", documents.mail())
    content = (await call("match", action="grep", pattern="WORD|Bees fly")).content
    assert len(re.findall(r"^[1-9]+:.*(?:WORD|Bees fly)", content, re.MULTILINE)) == len(ODD_FILES) + 4 + 2
    assert "not searched" not in content
    names = await found(call, pattern="*.txt")
    assert len(names) == len(ODD_FILES)


async def test_unsearchable_file_does_not_end_the_search(workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"WORD\n")
    workspace.write_bytes("b.txt", b"WORD\n")
    query = MatchRequest(root=str(workspace.root), action="grep", pattern="WORD")
    broken = "from tools_app.matching.tree import FoundFile\nread = FoundFile.text\n"
    broken += "def text(file):\n    if file.name == 'a.txt': raise {}\n    return read(file)\nFoundFile.text = text\n"
    for error, reason in [("LookupError('no such codec')", "LookupError: no such codec"), ("MemoryError", "too large")]:
        start = match._START.replace("from tools_app", f"exec({broken.format(error)!r}); from tools_app")
        command = [start if word == match._START else word for word in match.COMMAND]
        done = subprocess.run(  # noqa: ASYNC221
            command, input=json.dumps(asdict(query)).encode(), capture_output=True, check=True
        )
        answer = json.loads(done.stdout)
        assert answer["lines"] == ["b.txt", "1:WORD"]
        assert reason in answer["unsearched"][0]


async def test_unreadable_folder_does_not_end_the_search(call: Call, workspace: Workspace) -> None:
    workspace.owner = (65_531, 65_531) if os.geteuid() == 0 else None
    workspace.write_bytes("closed/b.txt", b"WORD\n")
    workspace.write_bytes("a.txt", b"WORD\n")
    (workspace.root / "closed").chmod(0o444)
    assert (await found(call, pattern="*.txt"))[0] == "a.txt"
    content = (await call("match", action="grep", pattern="WORD")).content
    assert content == "a.txt\n1:WORD\n(not searched: closed/b.txt (not readable))"


async def test_search_has_no_server_environment(
    call: Call, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(workspace.root))
    workspace.write_bytes("json.py", b"raise SystemExit(3)")
    assert re.fullmatch("json.py", (await call("match", action="glob", pattern="*.py")).content)


async def test_grep_searches_documents_and_names_unsearchable_ones(call: Call, workspace: Workspace) -> None:
    """Matches are labelled such that `file` can read them."""
    workspace.write_bytes("a.pdf", documents.pdf("one", "a needle here"))
    workspace.write_bytes("sub/b.docx", documents.word())
    workspace.write_bytes("c.xlsx", documents.rows(3))
    workspace.write_bytes("d.txt", b"needle\n")
    workspace.write_bytes("e.pdf", documents.pdf("needle", password="x"))
    workspace.write_bytes("f.eml", documents.mail())
    workspace.write_bytes("g.zip", documents.archive({"needle.txt": "needle"}))
    result = await call("match", action="grep", pattern="needle|They rest|row 2|Bees fly")
    assert result.content.splitlines() == [
        "d.txt",
        "1:needle",
        "a.pdf offset=2 (page 2 of 2)",
        "1:a needle here",
        "c.xlsx offset=1 (sheet Sheet)",
        "3:| 2 | row 2 |",
        "f.eml offset=2 (attachment bees.pdf, page 1 of 1)",
        "1:Bees fly",
        "sub/b.docx offset=1 (page 1 of 1)",
        "7:They rest.",
        "(not searched: e.pdf (it is encrypted and needs a password); "
        "g.zip (it is an archive, not a document. Unpack it with the shell))",
    ]


async def test_matches_in_documents_are_paged_with_other_matches(
    call: Call, workspace: Workspace, tool_context: ToolContext
) -> None:
    object.__setattr__(tool_context, "page_bytes", 1_000)
    workspace.write_bytes("a.pdf", documents.pdf(*["needle " + "x" * 100] * 12))
    workspace.write_bytes("b.txt", b"needle\n" * 5)
    seen, offset = [], "1"
    while offset:
        content = (await call("match", action="grep", pattern="needle", offset=int(offset))).content
        assert len(content.encode()) <= 1_000
        seen += re.findall(r"^(?:a.pdf.*\((page \d+)|(\d):needle$)", content, re.MULTILINE)
        offset = "".join(re.findall(r"Next page: match.*offset=(\d+)", content))
    assert [page or line for page, line in seen] == [*"12345", *(f"page {number}" for number in range(1, 13))]


async def test_document_that_breaks_the_process_does_not_affect_others(
    call: Call, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_documents, "_PROCESS_S", 1.5)
    workspace.write_bytes("a.pdf", documents.pdf("a" * 60))
    workspace.write_bytes("b.pdf", documents.pdf("aa!"))
    result = await call("match", action="grep", pattern="^(a+)+!")
    assert result.content == "b.pdf offset=1 (page 1 of 1)\n1:aa!\n(not searched: a.pdf (too large or too complex))"

"""Tests that programs in the sandbox cannot reach restricted paths under any name."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tools_app.contract import ToolContext
from tools_app.errors import ToolError
from tools_app.files import Workspace, workspace_owner
from tools_app.sandbox import CommandOutcome, ShellCommand
from tools_app.sandbox.choice import choose_sandbox
from tools_app.sandbox.session_sandboxes import sandboxes
from tools_app.shell import restrictions
from tools_app.shell.restrictions import UNRESTRICTED, Restrictions

RESTRICTED = Restrictions(paths=[".env", "vault", "plans/*/secret.md"])
FILES = (".env", "app/.env", "vault/key", "app/vault/a/b", "plans/may/secret.md", "plans/may/open.md", "notes.txt")
ATTACKS = """
ln -s app linked; cat .e?? $(printf '.%s' env) linked/.env vault/key app/vault/a/b plans/may/secret.md link hard
grep -r KEPT . ; tar cf - . | grep -a KEPT; find . -type f -exec cat {} +
python3 -c "import os
for folder, _, names in os.walk('.'):
    for name in names:
        try: print(open(os.path.join(folder, name)).read())
        except OSError: pass"
cat < .env; ln .env other; cp -r vault copy; mv .env moved; mv vault moved; mv plans moved; mv plans/may moved; mv app moved
rm -rf .env vault; chmod 777 .env vault; umount .env vault; echo x > .env; echo x > vault/key; cat moved* copy/*
cat /proc/self/root/workspace/.env /proc/1/root/workspace/.env /proc/$$/cwd/vault/key
"""


@pytest.fixture
async def tool_context(tool_context: ToolContext, tmp_path: Path) -> AsyncIterator[ToolContext]:
    if (found := choose_sandbox("bubblewrap")).probe():
        pytest.skip(found.probe())
    yield replace(tool_context, sandbox=found, workspace=Workspace(tmp_path / "workspace", owner=workspace_owner()))
    await sandboxes.end("a session")


@pytest.fixture
def root(tool_context: ToolContext) -> Path:
    for name in FILES:
        tool_context.workspace.write_bytes(name, f"KEPT {name}\n".encode())
    root = tool_context.workspace.root
    (root / "hard").hardlink_to(root / ".env")
    (root / "link").symlink_to("vault/key")
    return root


async def run(context: ToolContext, text: str, restrictions: Restrictions = RESTRICTED) -> CommandOutcome:
    root = context.workspace.make_root()
    command = ShellCommand(text=text, session="a session", workspace=root, mask=restrictions.mask(Workspace(root)))
    return await context.sandbox.run(command, on_output=lambda text: None, on_start=lambda started: None)


async def test_programs_cannot_read_or_move_restricted_paths(tool_context: ToolContext, root: Path) -> None:
    said = (await run(tool_context, ATTACKS)).output
    kept = {line.partition("KEPT ")[2] for line in said.splitlines() if "KEPT " in line}
    assert kept == {"notes.txt", "plans/may/open.md"}
    assert "Permission denied" in said
    assert all((root / name).read_text() == f"KEPT {name}\n" for name in FILES)
    assert holding("KEPT", root) - {"moved/open.md"} == {*FILES, "hard", "link"}


def holding(text: str, root: Path) -> set[str]:
    files = (file for file in root.rglob("*") if file.is_file())
    return {file.relative_to(root).as_posix() for file in files if text in file.read_text()}


async def test_new_files_are_masked_from_the_next_command_on(tool_context: ToolContext, root: Path) -> None:
    made = await run(tool_context, "mkdir new; echo own > new/.env; cat new/.env; mv new new2; echo work > plans/may/b")
    assert made.output == "own\n"
    said = await run(tool_context, "cat new2/.env plans/may/b")
    assert "own" not in said.output
    assert "KEPT" not in said.output
    assert said.output.endswith("work\n")
    assert (
        "KEPT .env" in (await run(tool_context, "cat .env", UNRESTRICTED)).output
    )  # another agent of the same session


async def test_link_cycles_and_closed_folders_do_no_harm(tool_context: ToolContext, root: Path) -> None:
    (root / "x").mkdir()
    (root / "x/.env").symlink_to(".env")
    assert (await run(tool_context, "cat notes.txt")).output == "KEPT notes.txt\n"


def test_unreadable_folders_are_masked_entirely(
    tool_context: ToolContext, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = restrictions._entries

    def closed(folder: Path) -> list[object]:
        if folder.name == "app":
            raise PermissionError
        return [*entries(folder)]

    monkeypatch.setattr(restrictions, "_entries", closed)
    assert set(RESTRICTED.mask(Workspace(root)).hidden) == {".env", "hard", "vault", "app", "plans/may/secret.md"}
    assert set(RESTRICTED.mask(Workspace(root)).fixed) == {"plans", "plans/may"}
    monkeypatch.setattr(restrictions, "_MAX_MASK_ENTRIES", 3)
    with pytest.raises(ToolError, match="too many files"):
        RESTRICTED.mask(Workspace(root))

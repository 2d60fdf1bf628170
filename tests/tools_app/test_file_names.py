"""Tests that files are found by listed names and by models' spellings, and never by accident."""

import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.tools_app.conftest import Call
from tools_app.contract import ToolContext, base, registry
from tools_app.errors import ToolError
from tools_app.files import FileHistory, Snapshot, Workspace, as_text, differences
from tools_app.shell.restrictions import Restrictions

ODD = [
    "Screenshot 2026-01-05 at 10.00.00\u202fAM.txt",
    "no\u00a0break.txt",
    "two  spaces.txt",
    "soft\u00adhyphen.txt",
    "family \U0001f468\u200d\U0001f469\u200d\U0001f467.txt",
    "heart \u2764\ufe0f.txt",
    "tab\t.txt",
    "line\nfeed.txt",
    "turned \u202etxt.exe",
    "bytes \udcff\udce4.txt",
    os.fsdecode("Квартальный отчёт о продажах и план на следующий год.txt".encode("koi8_r")),
    "back\\slash.txt",
    unicodedata.normalize("NFD", "Übersicht für März.txt"),
    "\uff86\uff8e\uff9d.txt",  # half-width katakana
]
SPELLINGS = [
    (ODD[0], "Screenshot 2026-01-05 at 10.00.00 AM.txt"),
    (ODD[1], "no break.txt"),
    (ODD[2], "two spaces.txt"),
    (ODD[3], "softhyphen.txt"),
    (ODD[4], "family \U0001f468\U0001f469\U0001f467.txt"),
    (ODD[5], "heart \u2764.txt"),
    (ODD[6], "tab .txt"),
    (ODD[7], "line feed.txt"),
    (ODD[9], "bytes \ufffd\ufffd.txt"),
    ("é" * 120, unicodedata.normalize("NFD", "é" * 120)),
    (ODD[12], "Übersicht für März.txt"),
    (ODD[13], "ニホン.txt"),
    (unicodedata.normalize("NFC", ODD[12]), ODD[12]),
]


def put(workspace: Workspace, *names: str) -> None:
    for name in names:
        path = os.path.join(os.fsencode(workspace.make_root()), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"hello needle\n")


def content(call: Any) -> str:
    return str(call.content)


@pytest.mark.parametrize("name", ODD)
async def test_listed_name_is_accepted(call: Call, workspace: Workspace, name: str) -> None:
    put(workspace, f"folder {name}/{name}")
    (folder,) = content(await call("file", action="list", path=".")).splitlines()
    (file,) = content(await call("file", action="list", path=folder)).splitlines()
    listed = folder + file.removesuffix(" (13 B)")
    assert content(await call("match", action="glob", pattern="*")) == listed
    assert content(await call("match", action="grep", pattern="needle")) == f"{listed}\n1:hello needle"
    assert content(await call("match", action="grep", pattern="needle", path=listed)) == f"{listed}\n1:hello needle"
    assert "hello needle" in content(await call("file", action="read", path=listed))
    assert "Shown" in content(await call("message", type="info", text="x", attachments=[listed]))
    await call("file", action="edit", path=listed, old="hello", new="bye")
    assert [path.read_bytes() for path in workspace.root.glob("*/*")] == [b"bye needle\n"]


@pytest.mark.parametrize(("name", "spelling"), SPELLINGS)
async def test_other_spelling_refers_to_the_same_file(
    call: Call, workspace: Workspace, name: str, spelling: str
) -> None:
    put(workspace, f"in {name}/{name}")
    path = f"in {spelling}/{spelling}"
    assert "hello needle" in content(await call("file", action="read", path=path))
    assert "needle" in content(await call("match", action="grep", pattern="needle", path=path))
    assert "needle" in content(await call("match", action="grep", pattern="needle", glob=spelling))
    assert content(await call("match", action="glob", pattern=f"in {spelling}/*")) == as_text(f"in {name}/{name}")
    await call("file", action="write", path=path, content="new")
    await call("file", action="append", path=path, content="er")
    assert [path.read_bytes() for path in workspace.root.glob("*/*")] == [b"newer"]
    await call("file", action="delete", path=f"in {spelling}")
    assert not os.listdir(workspace.root)


def test_exact_name_takes_precedence(workspace: Workspace) -> None:
    composed, decomposed = "é.txt", unicodedata.normalize("NFD", "é.txt")
    workspace.write_bytes(composed, b"composed")
    (workspace.root / decomposed).write_bytes(b"decomposed")
    assert workspace.read_bytes(composed) == b"composed"
    assert workspace.read_bytes(decomposed) == b"decomposed"


def test_ambiguous_name_lists_usable_spellings(workspace: Workspace) -> None:
    put(workspace, "a\u00a0b.txt", "a\u202fb.txt")
    with pytest.raises(ToolError, match=r"^a b\.txt may be a\\u202fb\.txt or a\\xa0b\.txt\.") as refused:
        workspace.read_bytes("a b.txt")
    assert "Use one of these" in str(refused.value)
    assert workspace.read_bytes("a\\u202fb.txt") == workspace.read_bytes("a\\xa0b.txt") == b"hello needle\n"
    with pytest.raises(ToolError, match="may be"):
        workspace.write_bytes("a b.txt", b"lost")


def test_file_can_be_renamed_to_another_spelling_without_overwriting(workspace: Workspace) -> None:
    decomposed = unicodedata.normalize("NFD", "é.txt")
    put(workspace, decomposed, "b.txt")
    with pytest.raises(ToolError, match="exists already"):
        workspace.move("b.txt", "é.txt")
    workspace.move("é.txt", "é.txt")
    assert sorted(os.listdir(workspace.root)) == ["b.txt", "é.txt"]


def test_no_spelling_leads_outside_or_through_a_link(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("SECRET")
    workspace.make_root()
    (workspace.root / "lïnk").symlink_to(tmp_path)
    (workspace.root / "lïnk.txt").symlink_to(tmp_path / "secret.txt")
    outside = ["\uff0e\uff0e/secret.txt", "\u2025/secret.txt", "..\u200b/secret.txt", "\uff0fetc\uff0fpasswd"]
    links = [unicodedata.normalize("NFD", name) for name in ("lïnk/secret.txt", "lïnk.txt")]
    for path in [*outside, *links]:
        with pytest.raises(ToolError):
            workspace.read_bytes(path)


@pytest.mark.parametrize("path", ["\uff53ecret.env", "secret\u200b.env", "\uff53ub/key.txt"])
@pytest.mark.parametrize("action", ["read", "write", "edit", "delete", "move", "grep", "attachment", "patch"])
def test_restricted_file_is_refused_in_every_spelling(workspace: Workspace, path: str, action: str) -> None:
    put(workspace, "secret.env", "sub/key.txt")
    restrictions = Restrictions(paths=["*.env", "sub/"])
    arguments: dict[str, Any] = {"action": action, "path": path, "content": None}
    name = "file"
    match action:
        case "write":
            arguments["content"] = "x"
        case "edit":
            arguments |= {"old": "a", "new": "b"}
        case "move":
            arguments["to"] = "free.txt"
        case "grep":
            name, arguments = "match", {"action": "grep", "path": path, "pattern": "x"}
        case "attachment":
            name, arguments = "message", {"type": "info", "text": "x", "attachments": [path]}
        case "patch":
            patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch"
            arguments |= {"path": ".", "content": patch}
    given = base.validate(registry.get(name), {k: v for k, v in arguments.items() if v is not None})
    assert "restricted" in restrictions.refusal_reason(given, workspace)


async def test_history_stores_and_restores_every_name(workspace: Workspace, tmp_path: Path) -> None:
    history = FileHistory(tmp_path / "history")
    workspace.history = history
    history.folder.mkdir()
    put(workspace, *(f"in {name}/{name}" for name in ODD))
    before = history.take_snapshot(workspace.open_root(), Snapshot())
    assert before.left_out == ()
    assert len(before.files) == len(ODD)
    assert workspace.unrestorable(".") == []
    names = sorted(os.fsencode(path) for path in workspace.root.glob("*/*"))
    for path, state in before.files.items():
        path.encode()  # a database can store it
        workspace.delete_with_empty_parents(path)
        workspace.delete_with_empty_parents(path)
        content = history.content_path(state.sha256).read_bytes()
        workspace.restore(path, content, state.mode)
    after = history.take_snapshot(workspace.open_root(), before)
    assert [each for each in differences(before, after) if not each.before or not each.after] == []
    assert sorted(os.fsencode(path) for path in workspace.root.glob("*/*")) == names


def test_history_restores_only_the_exact_spelling(workspace: Workspace) -> None:
    composed, decomposed = "é.txt", unicodedata.normalize("NFD", "é.txt")
    put(workspace, decomposed)
    workspace.restore(composed, b"older", 0o100644)
    assert sorted(os.listdir(workspace.root)) == sorted([composed, decomposed])
    workspace.delete_with_empty_parents(composed)
    workspace.delete_with_empty_parents(composed)
    assert os.listdir(workspace.root) == [decomposed]


async def test_documents_with_unusual_names_are_searched(
    call: Call, tool_context: ToolContext, workspace: Workspace
) -> None:
    from tests.tools_app import documents

    workspace.write_bytes("a.pdf", documents.pdf("a needle here"))
    os.rename(workspace.root / "a.pdf", os.fsencode(workspace.root) + b"/b\xff\t.pdf")
    found = content(await call("match", action="grep", pattern="needle"))
    assert found == "b\\udcff\\t.pdf offset=1 (page 1 of 1)\n1:a needle here"

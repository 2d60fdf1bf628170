"""Tests of restricted paths and blocked commands of an agent."""

from pathlib import Path
from typing import Any

import pytest

from tools_app.contract import registry
from tools_app.files import Workspace
from tools_app.shell.restrictions import UNRESTRICTED, Restrictions

RESTRICTED = Restrictions(paths=[".env", "*.pem", "private/*"], commands=["curl", "git push"])


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    for name in (".env", "app/key.pem", "private/plan.md", "notes.txt", "docs/a.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    return Workspace(tmp_path)


def refusal(workspace: Workspace, tool: str, restrictions: Restrictions = RESTRICTED, **arguments: Any) -> str:
    return restrictions.refusal_reason(registry.get(tool).arguments(**arguments), workspace)


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "read", "path": ".env"},
        {"action": "read", "path": "/workspace/./docs/../app/key.pem"},
        {"action": "write", "path": "deep/new.pem", "content": "x"},
        {"action": "delete", "path": "private/plan.md"},
        {"action": "read", "path": "private/sub/folder.md"},
        {"action": "move", "path": "notes.txt", "to": "private/notes.txt"},
        {
            "action": "patch",
            "path": ".",
            "content": "--- a/private/plan.md\n+++ b/private/plan.md\n@@ -1 +1 @@\n-x\n+y\n",
        },
        {
            "action": "patch",
            "path": ".",
            "content": "*** Begin Patch\n*** Update File: /workspace/private/plan.md\n@@\n-x\n+y\n*** End Patch",
        },
    ],
    ids=lambda arguments: f"{arguments['action']} {arguments['path']}",
)
def test_restricted_path_is_refused_in_every_action(arguments: dict[str, Any], workspace: Workspace) -> None:
    assert refusal(workspace, "file", **arguments).endswith(" is restricted here by an administrator.")


def test_paths_of_this_machine_are_restricted_as_those_of_the_workspace(workspace: Workspace) -> None:
    path = f"{workspace.make_root()}/private/plan.md"
    assert refusal(workspace, "file", action="read", path=path)
    assert refusal(
        workspace, "file", action="patch", path=".", content=f"--- {path}\n+++ {path}\n@@ -1 +1 @@\n-x\n+y\n"
    )
    assert not refusal(workspace, "file", action="read", path=f"{workspace.root}/notes.txt")


@pytest.mark.parametrize(
    "command",
    [
        "cat .env",
        "cat < .env",
        'c"at" .e"nv"',
        "bash -c 'cat .env'",
        "cat ./.en*",
        "python3 -c \"print(open('app/key.pem').read())\"",
        "cp notes.txt private/notes.txt",
        "echo x > private/plan.md",
        "X=.env; cat $X",
    ],
)
def test_command_with_a_restricted_path_is_refused(command: str, workspace: Workspace) -> None:
    assert "restricted" in refusal(workspace, "shell", command=command)


@pytest.mark.parametrize(
    "command",
    ["curl x.org", "/usr/bin/curl x.org", "true && sudo curl x", "sh -c 'curl x'", "git push", "git -C a push --force"],
)
def test_blocked_command_is_refused_however_it_is_started(command: str, workspace: Workspace) -> None:
    assert "is blocked here" in refusal(workspace, "shell", command=command)


@pytest.mark.parametrize("command", ["ls", "cat notes.txt docs/*.md", "git status", "echo curling", "git pull"])
def test_other_calls_are_allowed(command: str, workspace: Workspace) -> None:
    assert refusal(workspace, "shell", command=command) == ""
    assert refusal(workspace, "shell", UNRESTRICTED, command=f"{command}; cat .env; curl x") == ""


def test_search_cannot_read_a_restricted_file(workspace: Workspace) -> None:
    assert ".env is restricted" in refusal(workspace, "match", action="grep", pattern="x")
    assert refusal(workspace, "match", action="grep", pattern="x", path="docs") == ""
    assert refusal(workspace, "match", action="glob", pattern="*") == ""


def test_attachments_and_slide_pictures_count_as_files(workspace: Workspace) -> None:
    assert refusal(workspace, "message", type="info", text="x", attachments=["app/key.pem"])
    slide = {"title": "a", "body": "b", "image": "private/a.png"}
    assert refusal(workspace, "slides", title="x", slides=[slide], path="a.html")

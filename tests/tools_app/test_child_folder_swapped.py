"""Tests that the folder of a delegated task is never followed through a link.

Programs of its parent can write there, so they can replace it by a link, even after the check for links.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tools_app.contract import ToolContext, base, registry
from tools_app.errors import ToolError
from tools_app.files import FileHistory, Snapshot, Workspace, safe_open
from tools_app.files.workspace_copy import copy

Moments = Iterator[int]


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    """The target of a link: a folder like the child's, with a secret in it."""
    outer = tmp_path / "outer"
    (outer / "1").mkdir(parents=True)
    (outer / "1/secret.txt").write_text("SECRET")
    return outer


@pytest.fixture
def child(tmp_path: Path) -> Workspace:
    parent = tmp_path / "parent"
    child = Workspace(parent / "children/1", views=[parent], history=FileHistory(tmp_path / "history"))
    child.write_bytes("inside.txt", b"inside")
    return child


@pytest.fixture(params=["children", "children/1"])
def moments(request: pytest.FixtureRequest, child: Workspace, outer: Path, monkeypatch: pytest.MonkeyPatch) -> Moments:
    """Yield repeatedly; each time, a folder is replaced by a link after one more check for links."""
    name, looked, left = outer.parent / "parent" / request.param, safe_open.without_links, 0
    target, away = (outer if request.param == "children" else outer / "1"), outer.parent / "away"

    def looked_then_swapped(within: Path, root: Path) -> Path:
        nonlocal left
        found, left = looked(within, root), left - 1
        if left == 0:
            if name.exists():
                name.rename(away)
            name.symlink_to(target)
        return found

    def each() -> Moments:
        nonlocal left
        for moment in range(1, 9):
            left = moment
            yield moment
            if name.is_symlink():
                name.unlink()
                if away.exists():
                    away.rename(name)

    monkeypatch.setattr(safe_open, "without_links", looked_then_swapped)
    return each()


async def test_match_finds_nothing_outside_the_workspace(
    tool_context: ToolContext, child: Workspace, moments: Moments
) -> None:
    definition, context = registry.get("match"), replace(tool_context, workspace=child)
    arguments = base.read_arguments(definition, '{"action": "grep", "pattern": "SECRET|inside"}')
    found = set()
    for _ in moments:
        try:
            found.add((await definition.handler(arguments, context)).content)
        except ToolError as error:
            assert "link" in str(error)  # noqa: PT017
    assert found == {"inside.txt\n1:inside"}


def test_history_stores_nothing_from_outside(child: Workspace, moments: Moments) -> None:
    assert child.history
    child.history.folder.mkdir()
    seen = set()
    for _ in moments:
        try:
            seen |= child.history.take_snapshot(child.open_root(), Snapshot()).files.keys()
        except (OSError, ToolError) as error:
            assert "link" in str(error)  # noqa: PT017
    assert seen == {"inside.txt"}


def test_nothing_outside_is_copied(child: Workspace, moments: Moments, tmp_path: Path) -> None:
    for moment in moments:
        try:
            copy(child, Workspace(tmp_path / f"copy{moment}"))
        except ToolError as error:
            assert "link" in str(error)  # noqa: PT017
    assert {path.name for path in tmp_path.glob("copy*/*")} == {"inside.txt"}


def test_nothing_outside_is_created_or_handed_over(
    child: Workspace, outer: Path, moments: Moments, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[Path] = []
    monkeypatch.setattr(os, "chown", lambda place, *_, **__: handed.append(place))
    monkeypatch.setattr(os, "fchown", lambda place, *_: handed.append(Path(f"/proc/self/fd/{place}").resolve()))
    child.owner = (os.getuid(), os.getgid())
    root = child.root
    for _ in moments:
        shutil.rmtree(root, ignore_errors=True)
        try:
            child.make_root()
        except ToolError as error:
            assert "link" in str(error)  # noqa: PT017
        assert sorted(path.name for path in outer.rglob("*")) == ["1", "secret.txt"]
    assert handed
    assert {place.is_relative_to(child.outermost) for place in handed} == {True}

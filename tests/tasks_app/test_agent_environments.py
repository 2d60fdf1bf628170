"""Environments of an agent's commands: validation of folders, and the order of layers."""

from pathlib import Path
from typing import Any

import pytest

from tasks_app.models import Agent
from tasks_app.workspace import folders
from tools_app.sandbox import Layer, workshop
from tools_app.sandbox.docker import Docker
from tools_app.sandbox.local import Local


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (folder := tmp_path / "statistics").mkdir()
    (folder / "bin").mkdir()
    return folder


def test_folder_with_programs_is_accepted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_RESERVED", ())
    assert folders.check_environment(str(folder)) == str(folder)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("environments/one", "whole path"),
        ("/srv/../usr", "whole path"),
        ("/nowhere/at/all", "folder bin"),
        ("/", "must not see"),
    ],
)
def test_other_paths_are_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        folders.check_environment(text)


def test_server_data_is_refused(folder: Path, settings: Any) -> None:
    settings.VAR_DIR = folder.parent
    with pytest.raises(ValueError, match="must not see"):
        folders.check_environment(str(folder))


def test_environment_precedes_the_workshop_and_may_be_missing(folder: Path, settings: Any) -> None:
    settings.WORKSHOP = str(folder)
    agent = Agent(environments=[str(folder), str(folder / "gone")])
    shared = Layer(folder=folder, mount=workshop.MOUNT)
    assert folders.layers(Local(), agent) == (Layer(folder=folder, mount=folder), shared)
    assert folders.layers(Local(), None) == (shared,)
    assert folders.layers(Docker(), None) == ()

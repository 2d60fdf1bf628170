"""Tests of read-only layers, and of the workshop, which is one."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tools_app.files import workspace_owner
from tools_app.sandbox import Layer, ShellCommand, workshop
from tools_app.sandbox.choice import NoSandbox, choose_sandbox
from tools_app.sandbox.probe import SandboxContents, sandbox_contents

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return the output of a command with these layers."""
    if reason := (sandbox := choose_sandbox("bubblewrap")).probe():
        pytest.skip(f"bubblewrap does not work here: {reason}")
    (workspace := tmp_path / "workspace").mkdir()
    if owner := workspace_owner():
        os.chown(workspace, *owner)

    def run(text: str, *layers: Layer) -> str:
        command = ShellCommand(text=text, workspace=workspace, layers=layers)
        return asyncio.run(sandbox.run(command, on_output=lambda text: None, on_start=lambda started: None)).output

    return run


def greeter(folder: Path, says: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "greet").write_text(f"#!/bin/sh\necho {says}\n")
    (folder / "bin" / "greet").chmod(0o755)
    return folder


def test_first_layer_takes_precedence_and_layers_are_read_only(run: Run, tmp_path: Path) -> None:
    (private := tmp_path / "private").mkdir(mode=0o700)  # like the server's own folder
    one, two = greeter(private / "one", "one"), greeter(private / "two", "two")
    layers = (Layer(folder=one, mount=Path("/opt/one")), Layer(folder=two, mount=two))
    said = run("greet; touch /opt/one/x $(dirname $(which -a greet | tail -1))/x 2>&1 | grep -c Read-only", *layers)
    assert said == "one\n2\n"


def test_contents_come_from_the_sandbox_itself(run: Run, tmp_path: Path) -> None:
    folder = greeter(tmp_path / "environment", "one")
    (folder / "bin" / "python3").write_text("#!/bin/sh\necho pandas statistics\n")
    (folder / "bin" / "python3").chmod(0o755)
    found = sandbox_contents(choose_sandbox("bubblewrap"), (Layer(folder=folder, mount=folder),))
    assert "python3" in found.programs
    assert found.packages == ("pandas", "statistics")
    assert not {*found.programs} & {*found.missing}


def test_contents_are_empty_without_a_sandbox() -> None:
    assert sandbox_contents(NoSandbox("for this test")) == SandboxContents()


class TestWorkshop:
    def test_setting_0_disables_it(self, tmp_path: Path) -> None:
        assert workshop.layer("0", tmp_path) is None
        assert not workshop.is_missing("0", tmp_path)

    def test_can_be_part_of_an_image(self, tmp_path: Path) -> None:
        assert workshop.layer(str(tmp_path), tmp_path) == Layer(folder=tmp_path, mount=workshop.MOUNT)
        assert workshop.layer(str(tmp_path / "none"), tmp_path) is None

    def test_installation_is_atomic(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def steps(python: Path, draft: Path) -> list[list[str]]:
            return [["mkdir", str(draft)], ["sh", "-c", "echo no registry >&2; exit 1"]]

        monkeypatch.setattr(workshop, "_install_commands", steps)
        with pytest.raises(workshop.CannotInstall, match="no registry"):
            workshop.install(tmp_path)
        assert workshop.is_missing("1", tmp_path)

    def test_is_installed_once_and_replaces_older_versions(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kind = workshop._workshop_folder(tmp_path).name.rpartition("-")[0]
        (old := tmp_path / f"{kind}-0123").mkdir()
        monkeypatch.setattr(workshop, "_install_commands", lambda python, draft: [["mkdir", str(draft)]])
        workshop.install(tmp_path)
        assert workshop.layer("1", tmp_path).folder.is_dir()
        assert not old.exists()
        monkeypatch.setattr(workshop, "_install_commands", lambda python, draft: [["false"]])
        workshop.install(tmp_path)  # installed already, so nothing is done

    def test_scripts_run_where_commands_see_them(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Pip writes the draft's path into scripts, and commands see the folder at another one."""

        def write(python: Path, draft: Path) -> list[list[str]]:
            (draft / "bin").mkdir(parents=True)
            (draft / "bin" / "python3").write_text('#!/bin/sh\ntail -n 1 "$1" | sh\n')
            (draft / "bin" / "greet").write_text(f"#!{draft}/bin/python3\necho hello\n")
            (draft / "bin" / "python3").chmod(0o700)
            (draft / "bin" / "greet").chmod(0o700)
            return []

        monkeypatch.setattr(workshop, "_install_commands", write)
        workshop.install(tmp_path)
        assert run("greet", workshop.layer("1", tmp_path)) == "hello\n"

    def test_packages_precede_those_of_the_system_and_follow_a_session_s_own(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The server's files are private, and commands may run as another user."""

        def write(python: Path, draft: Path) -> list[list[str]]:
            (packages := draft / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
            (packages / "greeter.py").touch()
            return []

        monkeypatch.setattr(workshop, "_install_commands", write)
        umask = os.umask(0o077)
        try:
            workshop.install(tmp_path)
        finally:
            os.umask(umask)
        folder = workshop.layer("1", tmp_path).folder
        paths = folder / "lib" / "python3.11" / "site-packages" / "workshop.pth"
        assert (folder / "packages" / "greeter.py").exists()
        assert "packages" in paths.read_text()
        assert all(path.stat().st_mode & 0o044 == 0o044 for path in (paths, paths.parent, folder / "packages"))

    def test_installer_gets_no_server_secrets(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SECRET_KEY", "x")
        monkeypatch.setenv("PIP_INDEX_URL", "y")
        seen = tmp_path / "seen"
        look = ["sh", "-c", f"env > {seen}"]
        monkeypatch.setattr(workshop, "_install_commands", lambda python, draft: [look, ["mkdir", str(draft)]])
        workshop.install(tmp_path)
        assert "PIP_INDEX_URL=y" in seen.read_text()
        assert "SECRET_KEY" not in seen.read_text()

    @pytest.mark.skipif("TEST_WORKSHOP" not in os.environ, reason="TEST_WORKSHOP=1 installs 400 MB")
    def test_contains_the_required_packages(self, run: Run, tmp_path: Path) -> None:
        workshop.install(tmp_path)
        layer = workshop.layer("1", tmp_path)
        names = "numpy, pandas, matplotlib, openpyxl, PIL, pypdf, docx, pptx, requests, lxml.etree"
        names += ", flask, httpx, hypothesis, jinja2, pydantic, pytest, pytest_cov, xdist, rich, sqlalchemy"
        said = run(f"python3 -c 'import {names}; print(pandas.__file__)'", layer)
        assert said.startswith("/opt/workshop/packages/")
        assert "pytest-cov" in sandbox_contents(choose_sandbox("bubblewrap"), (layer,)).packages
        assert {"rg", "ruff"} <= {*sandbox_contents(choose_sandbox("bubblewrap"), (layer,)).programs}
        run("printf 'import m\\ndef test_one():\\n    assert m.double(2) == 4\\n' > test_m.py", layer)
        run("printf 'def double(n):\\n    return 2 * n\\n' > m.py", layer)
        assert "1 passed" in run("pytest -q -n 2 --cov=m", layer)
        assert "1 passed" in run("python3 -m pytest -q", layer)
        own = "folder=$(python3 -m site --user-site)/rich; mkdir -p $folder; touch $folder/__init__.py"
        assert "/.local/lib/" in run(f"{own}; python3 -c 'import rich; print(rich.__file__)'", layer)
        assert run("ruff check --select F . && rg -c double m.py && flask --version", layer).startswith(
            "All checks passed!\n1\n"
        )

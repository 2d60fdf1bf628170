"""Tests of the choice of a sandbox, and of servers without one."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools_app.errors import SandboxUnavailable
from tools_app.sandbox import Sandbox, ShellCommand, choice
from tools_app.sandbox.bubblewrap import Bubblewrap
from tools_app.sandbox.choice import choose_sandbox
from tools_app.sandbox.docker import Docker


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    choice.clear_cache()
    yield
    choice.clear_cache()


@pytest.fixture
def broken_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a machine without working bubblewrap and docker."""
    monkeypatch.setattr(Bubblewrap, "probe", lambda self: "namespaces are off")
    monkeypatch.setattr(Docker, "probe", lambda self: "no engine")


def run(sandbox: Sandbox, folder: Path) -> None:
    command = ShellCommand(text="touch made", workspace=folder)
    asyncio.run(sandbox.run(command, on_output=lambda text: None, on_start=lambda started: None))


def test_strongest_working_sandbox_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Docker, "probe", lambda self: "")
    monkeypatch.setattr(Bubblewrap, "probe", lambda self: "namespaces are off")
    assert choose_sandbox(allow_local=True).name == "docker"
    choice.clear_cache()
    monkeypatch.setattr(Bubblewrap, "probe", lambda self: "")
    assert choose_sandbox(allow_local=True).name == "bubblewrap"


@pytest.mark.usefixtures("broken_backends")
def test_single_user_server_falls_back_to_local() -> None:
    assert choose_sandbox(allow_local=True).name == "local"


@pytest.mark.usefixtures("broken_backends")
def test_multi_user_server_without_sandbox_reports_reason(tmp_path: Path) -> None:
    sandbox = choose_sandbox(allow_local=False)
    assert sandbox.name == "none"
    assert "namespaces are off" in sandbox.probe()
    with pytest.raises(SandboxUnavailable, match="no engine"):
        run(sandbox, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("broken_backends")
def test_named_sandbox_is_never_replaced() -> None:
    assert choose_sandbox("bubblewrap", allow_local=True).name == "none"
    assert choose_sandbox("local", allow_local=False).name == "local"


def test_unknown_name_is_reported() -> None:
    assert "'bubble'" in choose_sandbox("bubble", allow_local=True).probe()


def test_probe_runs_once() -> None:
    assert choose_sandbox("local") is choose_sandbox("local")


def test_probe_works_on_an_event_loop() -> None:
    async def ask() -> str:
        return choose_sandbox("local").probe()

    assert asyncio.run(ask()) == ""


def test_docker_failure_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    reason = Docker().probe()
    assert "docker" in reason.lower()
    assert "\n" not in reason


def test_missing_docker_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert Docker().probe() == "The program docker is not installed."


def test_program_that_is_not_bubblewrap_is_rejected() -> None:
    assert Bubblewrap(Path("/usr/bin/false")).probe()
    assert "/no/such/bwrap" in Bubblewrap(Path("/no/such/bwrap")).probe()


def test_every_sandbox_states_its_weakness() -> None:
    assert all(choose_sandbox(name).weakness.endswith(".") for name in ("bubblewrap", "docker", "local", "unknown"))

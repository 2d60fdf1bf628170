"""Tests of local commands: no isolation, but limits, an end, and no root."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from tests.processes import living
from tests.waiting import takes_less_than
from tools_app.errors import PortUnreachable
from tools_app.files import workspace_owner
from tools_app.files.owner import UNPRIVILEGED
from tools_app.sandbox import CommandLimits, CommandOutcome, ShellCommand
from tools_app.sandbox.local import Local
from tools_app.sandbox.ports import connect, listening_ports


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace as the server creates it, below a folder that its owner cannot enter."""
    tmp_path.chmod(0o700)
    (folder := tmp_path / "workspace").mkdir(mode=0o700)
    if owner := workspace_owner():
        os.chown(folder, *owner)
    return folder


def run(text: str, workspace: Path, limits: CommandLimits | None = None) -> CommandOutcome:
    command = ShellCommand(
        text=text, workspace=workspace, limits=limits or CommandLimits(), environment={"TOKEN": "sesame"}
    )
    return asyncio.run(Local().run(command, on_output=lambda text: None, on_start=lambda started: None))


def test_command_runs_in_the_workspace(workspace: Path) -> None:
    assert run("echo $TOKEN > made; cat made", workspace) == CommandOutcome(exit_code=0, output="sesame\n")
    assert (workspace / "made").exists()


def test_server_environment_is_not_inherited(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "the-servers-own-secret")
    assert "the-servers-own-secret" not in run("env", workspace).output


def test_home_is_private_and_temporary(workspace: Path) -> None:
    home = run("touch ~/file && echo $HOME", workspace).output.strip()
    assert home not in ("", str(Path.home()))
    assert not Path(home).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up root")
def test_root_is_dropped(workspace: Path) -> None:
    output = run("id -u; id -G; touch made", workspace).output
    assert output.split() == [str(UNPRIVILEGED), str(UNPRIVILEGED)]
    assert (workspace / "made").stat().st_uid == UNPRIVILEGED


async def test_only_ports_of_the_session_are_reachable(workspace: Path) -> None:
    program = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1]); s.accept()"
    said: list[str] = []
    command = ShellCommand(text=f'python3 -u -c "{program}"', workspace=workspace, session="ours")
    running = asyncio.create_task(Local().run(command, on_output=said.append, on_start=lambda started: None))
    async with asyncio.timeout(30):
        while not said:  # noqa: ASYNC110  a list has no event
            await asyncio.sleep(0.01)
    with socket.create_server(("127.0.0.1", 0)) as of_the_server:
        for session, port in (("other", int(said[0])), ("ours", of_the_server.getsockname()[1])):
            with pytest.raises(PortUnreachable):
                await connect(session, port)
    assert (await listening_ports("ours"), await listening_ports("other")) == ([int(said[0])], [])
    _, writer = await connect("ours", int(said[0]))
    assert (await running).exit_code == 0
    writer.close()


def test_background_processes_end_with_the_command(workspace: Path) -> None:
    with takes_less_than(1.2):
        outcome = run("sleep 60 & echo $!", workspace)
    assert int(outcome.output) not in living()


def test_slow_command_is_killed_even_if_it_ignores_sigterm(workspace: Path) -> None:
    with takes_less_than(5):
        assert run("trap '' TERM; while :; do sleep 0.1; done", workspace, CommandLimits(wall_s=0.2)).timed_out


def test_command_can_clean_up_before_it_is_killed(workspace: Path) -> None:
    run("trap 'touch cleaned; exit' TERM; while :; do sleep 0.05; done", workspace, CommandLimits(wall_s=0.3))
    assert (workspace / "cleaned").exists()


def test_signal_is_visible_in_the_exit_code(workspace: Path) -> None:
    assert run("kill -9 $$", workspace).exit_code == 137


def test_error_in_the_output_callback_is_raised(workspace: Path) -> None:
    def fail(text: str) -> None:
        raise ValueError(text)

    command = ShellCommand(text="echo lost", workspace=workspace)
    with pytest.raises(ValueError, match="lost"):
        asyncio.run(Local().run(command, on_output=fail, on_start=lambda started: None))


def test_process_outside_the_group_does_not_delay_the_command(workspace: Path) -> None:
    with takes_less_than(2.5):
        assert run("setsid sleep 30 & echo done", workspace).output == "done\n"


def test_cpu_limit_is_applied_and_reported(workspace: Path) -> None:
    outcome = run("while :; do :; done", workspace, CommandLimits(cpu_s=1, wall_s=20))
    assert (outcome.exit_code, outcome.out_of_cpu_time) == (128 + 9, True)

"""The end of a `run_agent` process: its task stops, and no server continues it unattended."""

import fcntl
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tasks_app import services
from tasks_app.models import Task
from tasks_app.runtime import process
from tasks_app.worker import reaper
from tests.server import KEYS, ROOT, Server, migrated
from tests.tasks_app.engine.conftest import call, owner, play, result, script
from tests.waiting import until

__all__ = ["owner", "play"]

CONFIG = """
providers: [{name: scripted, protocol: scripted}]
models: [{name: default, providers: [{provider: scripted, model: script}]}]
"""
WORDS = script(call("message", type="info", text="I begin."), call("shell", command="sleep 60"), result())


class Agent:
    """A separate process of `run_agent` that has printed its first words and runs a command."""

    def __init__(self, var: Path) -> None:
        self.environment = {"PATH": os.environ["PATH"], "AGENTSITE_VAR": str(var), **KEYS}
        self.database = var / "agentsite.sqlite3"

    def start(self) -> "Agent":
        command = [sys.executable, "manage.py", "run_agent", WORDS]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "I begin.\n"
        until(lambda: self.ask("SELECT 1 FROM tool_call_logs WHERE name = 'shell' AND status = 'started'"))
        return self

    def ask(self, sql: str) -> tuple[object, ...] | None:
        with sqlite3.connect(self.database) as connection:
            row: tuple[object, ...] | None = connection.execute(sql).fetchone()
        connection.close()
        return row

    def ended(self) -> tuple[int, str]:
        """Return its exit status and its stderr."""
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said

    @property
    def task(self) -> tuple[object, ...] | None:
        return self.ask("SELECT state, failure_code, failure_detail FROM tasks")


@pytest.fixture(scope="module")
def var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run_agent")
    shutil.copytree(migrated(), folder / "var")
    (folder / "config.yml").write_text(CONFIG)
    environment = {"PATH": os.environ["PATH"], "AGENTSITE_VAR": str(folder / "var"), **KEYS}
    command = [sys.executable, "manage.py", "configure", str(folder / "config.yml")]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return folder / "var"


@pytest.fixture
def agent(var: Path, tmp_path: Path) -> Iterator[Agent]:
    shutil.copytree(var, tmp_path / "var")
    agent = Agent(tmp_path / "var").start()
    yield agent
    agent.process.kill()
    agent.process.communicate()


STOPPED = ("failed", "stopped", "Stopped. Write a message to go on from here.")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_signal_stops_the_task_like_the_stop_button(number, agent):
    agent.process.send_signal(number)
    status, said = agent.ended()
    assert (status, agent.task) == (1, STOPPED)
    assert "Traceback" not in said


def test_closed_pipe_stops_the_task(agent):
    agent.process.stdout.close()
    until(lambda: agent.process.poll() is not None)
    assert (agent.process.returncode, agent.task) == (1, STOPPED)
    said = agent.process.stderr.read()
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_next_server_ends_the_task_of_a_killed_terminal(agent, next_server):
    agent.process.kill()
    agent.process.wait()
    next_server.start()
    until(lambda: agent.task[1] == "stopped")
    assert agent.task[2] == "The terminal that ran this task has ended. Write a message to go on from here."
    assert agent.ask("SELECT COUNT(*) FROM llm_logs") == (2,)


@pytest.fixture
def next_server(agent: Agent) -> Iterator[Server]:
    """A server on the same data."""
    server = Server(Path(agent.environment["AGENTSITE_VAR"]), **KEYS)
    yield server
    server.kill()


# --- with a running server ----------------------------------------------------------------------------------------


@pytest.fixture
def terminal(settings: object, tmp_path: Path) -> Iterator[str]:
    """Another live process of this host, whose lock is held."""
    name = "e" * 32
    process.name()  # creates the folder
    path = Path(process._folder()) / name
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield f"{process.name().partition(':')[0]}:{name}"
    path.unlink(missing_ok=True)


@pytest.fixture
def run(play: Callable[..., object], terminal: str) -> object:
    return play(call("message", type="ask", text="Which?"), result(), terminal=terminal)


def test_server_ignores_tasks_of_a_live_terminal(run, monkeypatch):
    woken: list[object] = []
    monkeypatch.setattr(reaper, "enqueue", woken.append)
    Task.objects.update(created_at="2020-01-01T00:00:00Z")
    reaper.start()
    reaper.sweep()
    assert woken == []
    assert run.advance().state == "initializing"


def test_server_stops_a_terminals_task_on_request(run):
    services.stop(run.task)
    assert run.advance().failure_code == "stopped"
    assert run.task.failure_detail.startswith("Stopped.")


def test_running_server_stops_a_waiting_task_of_a_dead_terminal(run, terminal, monkeypatch):
    Task.objects.update(terminal=process.name())
    assert run.advance().waiting_for == "reply"
    Task.objects.update(terminal=f"{terminal.partition(':')[0]}:{'f' * 32}")  # a process without a lock
    woken: list[object] = []
    monkeypatch.setattr(reaper, "enqueue", woken.append)
    reaper.sweep()
    assert woken == [run.task.pk]
    assert run.advance().failure_detail.startswith("The terminal that ran this task has ended.")


def test_terminal_process_advances_its_task(play):
    assert play(result(), terminal=process.name()).advance().state == "done"

"""Tests that no process of a command is left, however it ends."""

import secrets
import subprocess
from typing import Any

import pytest

from tests.tools_app.sandbox.conftest import Server
from tests.waiting import takes_less_than, until

# A process that has left its session and group and lost its parent.
ESCAPED = "setsid sh -c '(sleep {0} &) ; sleep {0}' >/dev/null 2>&1 </dev/null &"


def unique_duration() -> str:
    """A duration for `sleep` that no other process uses."""
    return f"1{secrets.randbelow(10**8):08}"


def processes_matching(words: str) -> list[str]:
    listing = subprocess.run(["ps", "axww", "-o", "stat=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if words in line and not line.startswith("Z")]


def test_finished_command_leaves_no_process(server: Server) -> None:
    number = unique_duration()
    outcome = server.run(f"{ESCAPED.format(number)} sleep {number} & echo done")
    assert outcome["output"] == "done\n"
    assert not processes_matching(f"sleep {number}")


@pytest.mark.parametrize("ending", ["timeout", "cancellation"])
def test_cancelled_command_leaves_no_process(server: Server, ending: str) -> None:
    number = unique_duration()
    order: dict[str, Any] = {"limits": {"wall_s": 0.5}} if ending == "timeout" else {"cancel_at": "ready"}
    outcome = server.run(f"{ESCAPED.format(number)} sleep 0.1; echo ready; sleep {number}", **order)
    assert outcome.get("timed_out") or outcome.get("cancelled")
    assert not processes_matching(f"sleep {number}")


def test_command_that_ignores_sigterm_is_killed(server: Server) -> None:
    with takes_less_than(3):
        outcome = server.run("trap '' TERM; echo ready; while :; do sleep 0.1; done", cancel_at="ready")
        assert outcome == {"cancelled": True}


def test_commands_end_when_the_server_dies(server: Server) -> None:
    number = unique_duration()
    with server.start(f"{ESCAPED.format(number)} touch started; sleep {number}") as process:
        server.until_exists("started")
        assert processes_matching(f"sleep {number}")
        process.kill()
    until(lambda: not processes_matching(f"sleep {number}"))


def test_background_process_does_not_delay_the_command(server: Server) -> None:
    with takes_less_than(5):
        assert server.run("sleep 90 & echo done")["output"] == "done\n"


def test_command_can_close_its_output_and_continue(server: Server) -> None:
    outcome = server.run("exec >&- 2>&-; sleep 0.8; touch late")
    assert outcome["exit_code"] == 0
    assert (server.workspace / "late").exists()


@pytest.mark.parametrize(
    ("text", "exit_code"), [("exit 3", 3), ("kill -9 $$", 137), ("no-such-program", 127), ("(", 2)]
)
def test_exit_code_is_that_of_the_command(server: Server, text: str, exit_code: int) -> None:
    assert server.run(text)["exit_code"] == exit_code


def test_stdout_and_stderr_keep_their_order(server: Server) -> None:
    outcome = server.run("echo one; echo two >&2; printf '\\303'; sleep 0.2; printf '\\244\\377'")
    assert outcome["output"] == outcome["shown"] == "one\ntwo\nä�"

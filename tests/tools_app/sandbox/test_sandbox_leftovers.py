"""Tests that leftovers of a crashed server are identified by pid and start time, and ended."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tools_app.sandbox import supervision


@pytest.fixture
def group_leader() -> Iterator["subprocess.Popen[str]"]:
    """The leader of a group of two, as another server would have started it."""
    words = ["sh", "-c", "sleep 60 & echo $!; wait"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        yield process
        process.kill()


def test_entire_group_is_killed(group_leader: "subprocess.Popen[str]") -> None:
    assert group_leader.stdout
    group_leader.stdout.readline()
    supervision.end_group(supervision.process_identity(group_leader.pid))
    assert group_leader.wait(timeout=0) == -9
    assert group_leader.stdout.read() == ""  # the second process held the other end


def test_process_with_a_reused_pid_is_left_alone(group_leader: "subprocess.Popen[str]") -> None:
    started = supervision.process_identity(group_leader.pid)
    supervision.end_group(replace(started, start_time=started.start_time - 1))
    with pytest.raises(subprocess.TimeoutExpired):
        group_leader.wait(timeout=0.1)


def test_missing_group_is_no_error(group_leader: "subprocess.Popen[str]") -> None:
    started = supervision.process_identity(group_leader.pid)
    group_leader.kill()
    group_leader.wait()
    supervision.end_group(started)


def test_missing_process_has_no_group() -> None:
    with pytest.raises(ProcessLookupError):
        supervision.process_identity(2**22 + 1)

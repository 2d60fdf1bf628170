"""What a crashed server left behind is ended by its pid and start time, and nobody else is."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tools_app.sandbox import supervision


@pytest.fixture
def leader() -> Iterator["subprocess.Popen[str]"]:
    """A group of two, as another server would have started it."""
    words = ["sh", "-c", "sleep 60 & echo $!; wait"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        yield process
        process.kill()


def test_the_whole_group_is_killed(leader: "subprocess.Popen[str]") -> None:
    assert leader.stdout
    leader.stdout.readline()
    supervision.end_group(supervision.process_identity(leader.pid))
    assert leader.wait(timeout=0) == -9
    assert leader.stdout.read() == ""  # the second process held the other end


def test_a_process_that_merely_has_the_same_pid_is_left_alone(leader: "subprocess.Popen[str]") -> None:
    started = supervision.process_identity(leader.pid)
    supervision.end_group(replace(started, start_time=started.start_time - 1))
    with pytest.raises(subprocess.TimeoutExpired):
        leader.wait(timeout=0.1)


def test_a_group_that_is_gone_is_no_error(leader: "subprocess.Popen[str]") -> None:
    started = supervision.process_identity(leader.pid)
    leader.kill()
    leader.wait()
    supervision.end_group(started)


def test_there_is_no_group_of_a_process_that_does_not_exist() -> None:
    with pytest.raises(ProcessLookupError):
        supervision.process_identity(2**22 + 1)

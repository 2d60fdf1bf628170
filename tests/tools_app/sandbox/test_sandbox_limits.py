"""Tests of the limits of commands under bubblewrap, with any server user."""

import pytest

from tests.tools_app.sandbox.conftest import Server
from tests.waiting import takes_less_than
from tools_app.files.quota import bytes_held

MIB = 1024**2

FORKS = """
import os, sys, time
count = 0
try:
    while count < 1000:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        count += 1
except BlockingIOError:
    print("held after", count, flush=True)
"""
BOMB = ":(){ :|:& };:; > exploding; sleep 30"


def test_number_of_processes_is_limited(server: Server) -> None:
    server.write("forks.py", FORKS)
    outcome = server.run("python3 forks.py", limits={"processes": 30})
    assert outcome["output"].startswith("held after ")
    assert int(outcome["output"].split()[-1]) < 30


def test_fork_bomb_does_not_block_other_commands(server: Server) -> None:
    with server.start(BOMB, limits={"processes": 40, "wall_s": 1.5}) as bomb:
        server.until_exists("exploding")
        assert server.run("true | true | echo fine", limits={"processes": 40})["output"] == "fine\n"
        answer, _ = bomb.communicate(timeout=10)
    assert '"timed_out": true' in answer


def test_memory_of_a_process_is_limited(server: Server) -> None:
    outcome = server.run("python3 -c 'len(bytearray(300 << 20))'", limits={"memory": 200 * MIB})
    assert "MemoryError" in outcome["output"]


def test_memory_of_all_processes_is_limited(server: Server) -> None:
    hold = "python3 -c 'import time; held = bytearray(b\"x\") * (60 << 20); time.sleep(20)' &"
    outcome = server.run(f"{hold * 6} wait", limits={"memory": 200 * MIB})
    assert outcome["out_of_memory"]


def test_shared_memory_counts_once(server: Server) -> None:
    server.write("share.py", "import os, time; a = bytearray(b'x') * (60 << 20); os.fork(); os.fork(); time.sleep(0.6)")
    assert server.run("python3 share.py", limits={"memory": 200 * MIB})["exit_code"] == 0


def test_file_size_is_limited(server: Server) -> None:
    outcome = server.run("head -c 3000000 /dev/zero > big", limits={"file_size": MIB})
    assert outcome["exit_code"] != 0
    assert (server.workspace / "big").stat().st_size <= MIB


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm", "$HOME"])
def test_temporary_space_is_limited(server: Server, place: str) -> None:
    outcome = server.run(f"head -c 3000000 /dev/zero > {place}/big", limits={"temporary": MIB})
    assert "No space left" in outcome["output"]


def test_cpu_time_is_limited(server: Server) -> None:
    outcome = server.run("while :; do :; done", limits={"cpu_s": 1, "wall_s": 10})
    assert outcome["exit_code"] == 128 + 9
    assert outcome["out_of_cpu_time"]
    assert not outcome["timed_out"]


def test_early_kill_is_not_reported_as_cpu_limit(server: Server) -> None:
    outcome = server.run("kill -9 $$", limits={"cpu_s": 1, "wall_s": 10})
    assert outcome["exit_code"] == 128 + 9
    assert not outcome["out_of_cpu_time"]


def test_cpu_time_lasts_as_long_as_the_clock_on_all_cores(server: Server) -> None:
    threads = "import threading, time\n"
    spin = "import hashlib\ndef spin():\n    while True: hashlib.sha256(bytes(1 << 22))\n"
    server.write("spin.py", f"{threads}{spin}for _ in range(8): threading.Thread(target=spin).start()\n")
    outcome = server.run("python3 spin.py", limits={"wall_s": 3})
    assert outcome["timed_out"]


def test_output_is_limited_and_keeps_both_ends(server: Server) -> None:
    outcome = server.run(
        "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last", limits={"output": 10_000}
    )
    assert outcome["exit_code"] == 0
    assert outcome["truncated"]
    assert outcome["output"].startswith("first\nxxx")
    assert outcome["output"].endswith("xxx\nlast\n")
    assert len(outcome["output"]) < 10_100
    assert len(outcome["shown"]) == 10_000


def test_command_with_endless_output_ends_in_time(server: Server) -> None:
    outcome = server.run("yes", limits={"wall_s": 0.5, "output": 1000})
    assert outcome["timed_out"]


def test_server_descriptors_are_not_inherited(server: Server) -> None:
    assert server.run("ls /proc/self/fd")["output"].split() == ["0", "1", "2", "3"]  # 3 belongs to the listing itself


def test_command_that_fills_the_workspace_is_killed_within_a_second(server: Server) -> None:
    server.write("fill.sh", "for n in $(seq 400); do head -c 1000000 /dev/zero > part-$n; done; sleep 200")
    with takes_less_than(10):  # not the 200 s of its sleep
        outcome = server.run(
            "mkdir hidden; touch hidden/x; chmod 000 hidden; sh fill.sh", limits={"workspace": 20 * MIB}
        )
        assert outcome["out_of_space"]
    assert bytes_held(server.workspace) < 400 * MIB


def test_sparse_file_counts_as_on_disk(server: Server) -> None:
    outcome = server.run("truncate -s 500M holes; sleep 0.5; echo fine", limits={"workspace": 20 * MIB})
    assert outcome["output"] == "fine\n"


def test_overfull_workspace_can_be_emptied(server: Server) -> None:
    server.run("for n in $(seq 20); do head -c 1000000 /dev/zero > part-$n; done")
    slowly = "sleep 0.8; for n in $(seq 20); do rm part-$n; sleep 0.1; done; echo empty"
    assert server.run(slowly, limits={"workspace": 10 * MIB})["output"] == "empty\n"

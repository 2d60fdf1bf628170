"""Tests of the tool shell with calls like a model's, in a working sandbox."""

import asyncio
import os
from dataclasses import replace
from shutil import which
from typing import Any

import pytest

from tests.processes import living
from tests.tools_app.conftest import Call
from tests.waiting import takes_less_than
from tools_app.contract import Danger, ToolContext, ToolResult, base, registry
from tools_app.errors import InvalidArguments, SandboxUnavailable
from tools_app.files import Workspace, workspace_owner
from tools_app.sandbox import ProcessIdentity, Sandbox
from tools_app.sandbox.choice import NoSandbox


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    return Workspace(workspace.root, owner=workspace_owner())


@pytest.fixture
def tool_context(tool_context: ToolContext, sandbox: Sandbox, started: list[ProcessIdentity]) -> ToolContext:
    return replace(tool_context, sandbox=sandbox, started=started.append)


async def test_result_has_output_and_exit_code(call: Call, reported: list[str]) -> None:
    result = await call("shell", command="echo one; echo two >&2")
    assert result.status == "succeeded"
    assert result.content.splitlines()[:2] == ["one", "two"]
    assert result.content.splitlines()[2].startswith("[exit code 0, 0.")
    assert "".join(reported) == "one\ntwo\n"


async def test_failing_command_is_not_a_failed_call(call: Call) -> None:
    result = await call("shell", command="echo missing; exit 3")
    assert result.status == "succeeded"
    assert result.content.startswith("missing\n[exit code 3, ")
    assert result.metadata["exit_code"] == 3


async def test_command_without_output_reports_its_exit_code(call: Call) -> None:
    assert (await call("shell", command="true")).content.startswith("[exit code 0, ")


async def test_only_files_persist_between_commands(call: Call, workspace: Workspace) -> None:
    await call("shell", command="echo kept > file; export LOST=x; mkdir -p sub && cd sub")
    result = await call("shell", command="cat file; echo [$LOST]; ls")
    assert result.content.startswith("kept\n[]\nfile\nsub\n")
    assert workspace.read_bytes("file") == b"kept\n"


async def test_tools_and_shell_can_change_the_same_files(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("ours", b"a")
    await call("shell", command="echo b >> ours; touch theirs")
    workspace.write_bytes("theirs", b"c")
    assert workspace.read_bytes("ours") == b"ab\n"
    assert (await call("shell", command="cat theirs")).content.startswith("c\n")


async def test_slow_command_is_killed_and_fails(call: Call) -> None:
    result = await call("shell", command="echo begun; sleep 30", timeout_s=1)
    assert (result.status, result.content) == ("failed", "begun\n[killed after 1 s]")


async def test_command_is_reported_at_start_and_killed_on_cancel(
    call: Call, started: list[ProcessIdentity], reported: list[str]
) -> None:
    running = asyncio.ensure_future(call("shell", command="echo ready; sleep 30"))
    while not reported:  # noqa: ASYNC110  a list has no event
        await asyncio.sleep(0.01)
    assert os.getpgid(started[0].pid) == started[0].pid
    running.cancel()
    with takes_less_than(1), pytest.raises(asyncio.CancelledError):
        await running
    assert started[0].pid not in living()


THREADS = """
#include <pthread.h>
#include <time.h>
volatile long x;
void *f(void *a) { for (;;) x++; }
int main() {
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, f, 0);
    struct timespec q = {60, 0};
    nanosleep(&q, 0);
    return 0;
}
"""


@pytest.mark.skipif(not which("gcc"), reason="needs a compiler")
async def test_threaded_program_runs_until_its_timeout(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("t.c", THREADS.encode())
    assert "exit code 0" in (await call("shell", command="gcc -O1 -pthread t.c -o t")).content
    result = await call("shell", command="./t", timeout_s=4)
    assert (result.status, result.content) == ("failed", "[killed after 4 s]")
    assert "timeout_s" in result.notes[0]
    assert "600" in result.notes[0]


@pytest.mark.parametrize(
    ("command", "figure"),
    [
        ("python3 -c 'held = bytearray(3 << 30)'", "2 GiB"),
        ("python3 -c 'held = bytearray(3 << 30)' 2>&1 | tail -1", "2 GiB"),
        ("head -c 1100M /dev/zero > big", "1 GiB"),
        ("python3 -c \"open('big', 'wb').truncate(2 << 30)\"", "1 GiB"),
        ("python3 -c 'import os; held = [os.dup(0) for _ in range(2000)]'", "1,024"),
        ("kill -9 $$", "2 GiB"),
        ("x=$(head -c 3G /dev/zero | tr '\\0' a)", "2 GiB"),
        ("head -c 1100M /dev/zero | cat > big", "1 GiB"),
        (
            "python3 -c 'import subprocess as s; s.run(\"head -c 1100M /dev/zero > big\", shell=True, check=True)'",
            "1 GiB",
        ),
    ],
)
async def test_reached_limit_is_named_with_its_figure(call: Call, command: str, figure: str) -> None:
    (note,) = (await call("shell", command=command)).notes
    assert figure in note


@pytest.mark.parametrize(
    "command",
    [
        "echo Too many open files; echo fine",
        "exit 3",
        "true",
        "grep x nowhere",
        "echo 'x: No space left on device' > log; grep -n space log",
        "echo MemoryError > log; tail -1 log; exit 1",
        "echo 'sh: Too many open files' > a; diff a /dev/null",
        "echo > 'Out of memory.txt'; ls",
        "python3 -c 'raise AssertionError(\"expected MemoryError, got None\")'",
        "python3 -c 'print(\"413 File too large\"); exit(1)'",
        "echo 'if errno == EMFILE:' > a.py; grep -rn EMFILE .; false",
    ],
)
async def test_other_endings_get_no_advice(call: Call, command: str) -> None:
    assert (await call("shell", command=command)).notes == []


@pytest.mark.parametrize(
    ("said", "figure"),
    [
        ("make: cc: Resource temporarily unavailable", "256 processes"),
        ("terminate called\n  what():  Resource temporarily unavailable", "256 processes"),
        ("open x.txt: too many open files", "1,024"),
        ("java.io.FileNotFoundException: x (Too many open files)", "1,024"),
        ("memory allocation of 4294967296 bytes failed", "2 GiB"),
        ("RangeError: Array buffer allocation failed", "2 GiB"),
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8 GiB", "2 GiB"),
        ("write big: file too large", "1 GiB"),
    ],
)
async def test_limits_are_recognized_in_messages_of_many_programs(call: Call, said: str, figure: str) -> None:
    (note,) = (await call("shell", command=f'python3 -c \'print("""{said}"""); exit(1)\'')).notes
    assert figure in note


FORKS = """
import threading, time
for _ in range(400):
    threading.Thread(target=time.sleep, args=(2,), daemon=True).start()
"""


async def test_thread_limit_is_named_under_bubblewrap(call: Call, sandbox: Sandbox) -> None:
    if sandbox.name == "local" and os.geteuid() != 0:
        pytest.skip("processes are not counted")
    (note,) = (await call("shell", command=f"python3 -c '{FORKS}'")).notes
    assert "256 processes" in note


async def test_full_temporary_folder_is_named(call: Call, sandbox: Sandbox) -> None:
    if sandbox.name == "local":
        pytest.skip("its temporary files are on the server's disk")
    (note,) = (await call("shell", command="head -c 600M /dev/zero > /tmp/big")).notes
    assert "/tmp" in note
    assert "512 MiB" in note


@pytest.mark.parametrize("how", ["sleep 1000 &", "nohup sleep 1000 >/dev/null 2>&1 &"])
async def test_left_behind_processes_end_and_are_named(call: Call, how: str, started: list[ProcessIdentity]) -> None:
    result = await call("shell", command=f"{how} echo on")
    assert result.content.startswith("on\n[exit code 0, ")
    assert result.content.endswith("; ended with it: `sleep 1000`. What shall run on needs background=true]")


@pytest.mark.parametrize("command", ["seq 3 | tail -1", "sleep 0.2 & wait", "true", "yes | head -1 > /dev/null"])
async def test_command_without_leftovers_names_none(call: Call, command: str) -> None:
    assert "ended with it" not in (await call("shell", command=command)).content


async def test_commands_use_the_person_s_time_zone(tool_context: ToolContext) -> None:
    definition = registry.get("shell")
    arguments = base.read_arguments(
        definition, '{"command": "date +%Z; python3 -c \\"import time; print(time.tzname[0])\\""}'
    )
    result = definition.handler(arguments, replace(tool_context, time_zone="Asia/Tokyo"))
    assert not isinstance(result, ToolResult)
    assert (await result).content.startswith("JST\nJST\n")


async def test_time_zone_is_utc_without_a_person(call: Call) -> None:
    assert (await call("shell", command="date +%Z")).content.startswith("UTC\n")


@pytest.fixture
def offline(call: Call, sandbox: Sandbox) -> Call:
    """Return a function for calls in a sandbox without a network."""
    if sandbox.name != "bubblewrap":
        pytest.skip("it has the machine's network")
    return call


@pytest.mark.skipif(not which("git"), reason="needs git")
async def test_pager_and_editor_do_not_wait(offline: Call) -> None:
    commit = "git -c user.name=a -c user.email=a@b commit --allow-empty"
    with takes_less_than(20):
        result = await offline(
            "shell", command=f"git init -q; {commit} -qm one; {commit} -q --amend; git log --format=%s"
        )
        assert result.content.startswith("one\n[exit code 0")


@pytest.mark.skipif(not which("npm"), reason="needs npm")
async def test_npm_neither_asks_nor_waits_for_a_network(offline: Call) -> None:
    with takes_less_than(20):
        assert "[exit code 0" in (await offline("shell", command="npm init > /dev/null && ls package.json")).content
        assert "npm error" in (await offline("shell", command="npm install left-pad; echo done")).content


async def test_pip_does_not_retry_without_a_network(offline: Call) -> None:
    with takes_less_than(20):
        result = await offline("shell", command="python3 -m pip --version && python3 -m pip download six 2>&1; env")
        assert "Retrying" not in result.content
        assert {"PIP_RETRIES=0", "CI=1", "npm_config_fetch_retries=0"} <= set(result.content.splitlines())


async def test_input_is_empty_so_that_no_program_waits(call: Call) -> None:
    assert (await call("shell", command="read answer; echo [$answer] $?")).content.startswith("[] 1\n")


async def test_bash_is_used_if_installed(call: Call) -> None:
    assert (await call("shell", command='[[ a == a ]] && echo "${BASH_VERSION:+bash}"')).content.startswith("bash\n")


async def test_command_can_start_with_a_dash_or_span_lines(call: Call) -> None:
    assert "not found" in (await call("shell", command="-x")).content
    assert (await call("shell", command="\n  echo a\n\n  echo b\n")).content.startswith("a\nb\n")


@pytest.mark.parametrize("command", ["echo \0", "x" * 130_000, "echo \ud800"])
async def test_impossible_command_text_is_refused_with_advice(call: Call, command: str) -> None:
    with pytest.raises(InvalidArguments):
        await call("shell", command=command)


@pytest.mark.parametrize("timeout_s", [0, -1, 601, "soon"])
def test_timeout_out_of_range_is_refused(timeout_s: Any) -> None:
    with pytest.raises(InvalidArguments, match="timeout_s"):
        base.validate(registry.get("shell"), {"command": "true", "timeout_s": timeout_s})


async def test_missing_sandbox_is_reported_with_the_reason(tool_context: ToolContext) -> None:
    definition = registry.get("shell")
    arguments = base.read_arguments(definition, '{"command": "touch made"}')
    with pytest.raises(SandboxUnavailable, match="namespaces are off"):
        await definition.handler(arguments, replace(tool_context, sandbox=NoSandbox("namespaces are off")))


@pytest.mark.parametrize(("command", "danger"), [("ls", Danger.MODERATE), ("git push --force", Danger.DANGEROUS)])
def test_danger_is_that_of_the_command(command: str, danger: Danger, workspace: Workspace) -> None:
    definition = registry.get("shell")
    assert definition.judgement(base.validate(definition, {"command": command}), workspace).danger is danger

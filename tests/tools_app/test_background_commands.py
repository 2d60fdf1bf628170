"""Tests of background commands: reading, writing, killing, and the end of idle ones."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from tests.processes import living
from tests.tools_app.conftest import Call
from tools_app import held_resources
from tools_app.contract import ToolContext, base, registry
from tools_app.contract.registry import compact_line
from tools_app.errors import ToolError
from tools_app.files import Workspace, workspace_owner
from tools_app.sandbox import ProcessIdentity, Sandbox
from tools_app.sandbox.session_sandboxes import sandboxes
from tools_app.shell import background_jobs as room
from tools_app.shell.background_jobs import jobs


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    return Workspace(workspace.root, owner=workspace_owner())


@pytest.fixture
async def tool_context(
    tool_context: ToolContext, sandbox: Sandbox, started: list[ProcessIdentity]
) -> AsyncIterator[ToolContext]:
    yield replace(tool_context, sandbox=sandbox, started=started.append)
    for job in jobs.jobs_of(tool_context.session):
        await job.end()
        jobs.forget(tool_context.session, job.number)
    await sandboxes.end(tool_context.session)


def runs(started: list[ProcessIdentity]) -> bool:
    return started[0].pid in living()


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  there is no event for it
            await asyncio.sleep(0.01)


async def test_job_keeps_running_and_can_be_written_to_and_read(call: Call) -> None:
    begun = await call(
        "shell", command="echo ready; while read line; do echo got $line; done; echo bye", background=True
    )
    assert begun.content.startswith("ready\n[job 1 is running")
    answered = await call("job", action="write", id=1, input="one\n", wait_s=20)
    assert answered.content == "got one\n[job 1 is running]"
    jobs.get("a session", 1).close_input()
    ended = await call("job", action="read", id=1, wait_s=20)
    assert ended.content.startswith("bye")


@pytest.mark.parametrize("command", ["exit 3", "echo up; echo no such module >&2; sleep 0.2; exit 3"])
async def test_job_that_dies_at_start_is_not_reported_as_running(call: Call, command: str) -> None:
    begun = await call("shell", command=command, background=True)
    *said, ending = begun.content.splitlines()
    assert said == (["up", "no such module"] if "echo" in command else [])
    assert re.fullmatch(r"\[job 1 ended with exit code 3 after \d\.\d s: it runs no more\]", ending)
    assert begun.metadata["exit_code"] == 3
    assert not held_resources.resources_of("a session")


async def test_job_that_prints_continuously_is_running(call: Call) -> None:
    begun = await call("shell", command="while :; do echo x; sleep 0.1; done", background=True)
    assert begun.content.startswith("x\nx\n")
    assert "[job 1 is running; " in begun.content


async def test_left_behind_processes_are_named(call: Call) -> None:
    begun = await call("shell", command="sleep 1000 & echo started", background=True)
    assert begun.content.startswith("started\n[job 1 ended with exit code 0 after ")
    assert ": it runs no more; ended with it: `sleep 1000`. Run that itself with background" in begun.content


async def test_ended_job_is_dropped_after_its_output_was_read(call: Call) -> None:
    await call("shell", command="sleep 1.5; exit 3", background=True)
    await eventually(lambda: jobs.get("a session", 1).has_ended)
    assert held_resources.resources_of("a session").keys() == {"job 1", "ended job 1"}
    read = await call("job", action="read", id=1)
    assert re.fullmatch(r"\[job 1 ended with exit code 3 after \d\.\d s\]", read.content)
    assert not held_resources.resources_of("a session")
    with pytest.raises(ToolError, match="There is no job 1. Jobs of this session: none"):
        await call("job", action="read", id=1)


async def test_killed_job_leaves_no_process(call: Call, started: list[ProcessIdentity]) -> None:
    await call("shell", command="sleep 1000 & sleep 1000", background=True)
    killed = await call("job", action="kill", id=1)
    assert killed.content == "[job 1 was ended]"
    assert not runs(started)


async def test_unread_output_is_kept_up_to_a_limit(call: Call) -> None:
    await call("shell", command="sleep 2; seq 300000; echo last; sleep 1000", background=True)
    await eventually(lambda: "last\n" in jobs.get("a session", 1)._unread.text()[-10:])
    read = (await call("job", action="read", id=1)).content
    assert read.endswith("300000\nlast\n[job 1 is running]")
    assert len(read) < room.MAX_UNREAD + 1000
    assert re.search(r"\n\[… [\d,]+ of 300,001 lines \(.*\) of output were not kept …\]\n", read)


def test_call_in_an_old_format_is_accepted() -> None:
    definition = registry.get("job")
    assert base.read_arguments(definition, '{"action": "read", "number": 2}') == base.read_arguments(
        definition, '{"action": "read", "id": 2}'
    )
    assert {compact_line("job", {"action": "read", name: 2}) for name in ("id", "number")} == {"job read 2"}


async def test_at_most_four_jobs_run(call: Call) -> None:
    for _ in range(room.MAX_JOBS):
        await call("shell", command="sleep 1000", background=True)
    with pytest.raises(ToolError, match="4 commands run in the background already"):
        await call("shell", command="sleep 1000", background=True)


async def test_idle_jobs_end(call: Call, started: list[ProcessIdentity], monkeypatch: pytest.MonkeyPatch) -> None:
    await call("shell", command="sleep 1000", background=True)
    monkeypatch.setattr(room, "IDLE_S", 0.2)
    await call("job", action="read", id=1)
    await eventually(lambda: not runs(started))
    assert not held_resources.resources_of("a session")


async def test_reached_limit_is_named(call: Call) -> None:
    begun = await call("shell", command="python3 -c 'held = bytearray(3 << 30)'", background=True)
    notes = begun.notes or (await call("job", action="read", id=1, wait_s=10)).notes
    assert "2 GiB" in notes[0]

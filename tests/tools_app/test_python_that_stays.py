"""Tests of the argument `python` of the tool shell: an interpreter whose variables outlive the calls."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.processes import living
from tests.tools_app.conftest import Call
from tests.waiting import takes_less_than
from tools_app import held_resources
from tools_app.contract import Danger, ToolContext, ToolResult, base, registry
from tools_app.contract.registry import compact_line
from tools_app.errors import InvalidArguments, ToolError
from tools_app.files import Workspace, workspace_owner
from tools_app.network import NetworkPolicy
from tools_app.sandbox import Docker, Mask, ProcessIdentity, Sandbox
from tools_app.sandbox.session_sandboxes import sandboxes
from tools_app.shell import Restrictions, python_process
from tools_app.shell.python_process import pythons

NEW = "; a new Python: no earlier variables]"


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    return Workspace(workspace.root, owner=workspace_owner())


@pytest.fixture
async def tool_context(
    tool_context: ToolContext, sandbox: Sandbox, started: list[ProcessIdentity]
) -> AsyncIterator[ToolContext]:
    yield replace(tool_context, sandbox=sandbox, started=started.append)
    for session in [*pythons._processes]:
        await pythons.end(session)
    await sandboxes.end(tool_context.session)


def content_of(result: ToolResult) -> tuple[str, str]:
    """Return the output and the last line, without the time in it."""
    output, _, ending = result.content.rpartition("\n")
    return output, re.sub(r"\d+\.\d s", "0.0 s", ending)


async def run(context: ToolContext, code: str, **arguments: object) -> ToolResult:
    definition = registry.get("shell")
    given = {"command": code, "python": True, **arguments}
    result = definition.handler(base.read_arguments(definition, json.dumps(given)), context)
    assert not isinstance(result, ToolResult)
    return await result


async def test_variables_stay_and_the_first_call_says_that_there_are_none(call: Call, reported: list[str]) -> None:
    first = await call("shell", command="rows = list(range(50_000))\nprint('read')", python=True)
    assert content_of(first) == ("read", f"[exit code 0, 0.0 s{NEW}")
    second = await call("shell", command="import os\nsum(rows)", python=True)
    assert content_of(second) == ("1249975000", "[exit code 0, 0.0 s]")
    assert "".join(reported) == "read\n1249975000\n"


async def test_commands_between_calls_leave_the_variables_alone(call: Call, tool_context: ToolContext) -> None:
    if tool_context.sandbox.name == "local" and os.geteuid() == 0:
        pytest.skip(
            "the folders above the workspace are closed to the commands' user, and Python imports by whole path"
        )
    await call("shell", command="n = 1", python=True)
    await call("shell", command="echo 'N = 2' > part.py")
    assert content_of(await call("shell", command="import part; n + part.N", python=True))[0] == "3"


async def test_an_error_shows_the_code_and_leaves_the_variables(call: Call) -> None:
    await call("shell", command="n = 1", python=True)
    failed = await call("shell", command="n = 2\ndef f():\n    return [][n]\nf()", python=True)
    output, ending = content_of(failed)
    assert output.splitlines()[0] == "Traceback (most recent call last):"
    assert 'File "<call 2>", line 3, in f' in output
    assert "return [][n]" in output
    assert output.splitlines()[-1] == "IndexError: list index out of range"
    assert "<string>" not in output
    assert (failed.status, failed.metadata["exit_code"], ending) == ("succeeded", 1, "[exit code 1, 0.0 s]")
    assert content_of(await call("shell", command="n", python=True))[0] == "2"


@pytest.mark.parametrize(
    ("code", "output", "exit_code"),
    [
        ("print('a', end='')", "a", 0),
        ("None", "", 0),
        ("def f(:", "SyntaxError: invalid syntax", 1),
        ("import sys; sys.exit(3)", "", 3),
        ("exit()", "", 0),
        ("input()", "EOFError: EOF when reading a line", 1),
        ("import subprocess; subprocess.run(['cat']).returncode", "0", 0),
        ("import sys; sys.stdout.buffer.write(bytes(range(256)) * 999) and None", "bytes of binary output]", 0),
        ("import os\nif os.fork() == 0: print('child')\nelse: os.wait(); print('parent')", "parent", 0),
        ("print('\\n-- end of ', end='')", "-- end of ", 0),
        ("__name__", "'__main__'", 0),
        ("'ü' * 3", "'üüü'", 0),
        ("x = '" + "y" * 100_000 + "'; len(x)", "100000", 0),
    ],
)
async def test_each_call_ends(call: Call, code: str, output: str, exit_code: int) -> None:
    with takes_less_than(10):
        result = await call("shell", command=code, python=True)
    assert result.metadata["exit_code"] == exit_code
    assert content_of(result)[0].endswith(output)
    assert content_of(await call("shell", command="1 + 1", python=True)) == ("2", "[exit code 0, 0.0 s]")


async def test_time_limit_interrupts_the_code_and_keeps_the_variables(call: Call) -> None:
    await call("shell", command="n = 1", python=True)
    result = await call("shell", command="print('begun')\nwhile True: n += 1", python=True, timeout_s=1)
    output, ending = content_of(result)
    assert (result.status, ending) == ("failed", "[interrupted after 1 s; its variables are kept]")
    assert output.startswith("begun\nTraceback")
    assert output.endswith("while True: n += 1\nTimeIsOver")
    assert "timeout_s was its limit" in result.notes[0]
    assert content_of(await call("shell", command="n > 1", python=True))[0] == "True"


async def test_code_that_cannot_be_interrupted_is_killed(
    call: Call, started: list[ProcessIdentity], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python_process, "GRACE_S", 0.5)
    deaf = "while True:\n    try: time.sleep(9)\n    except BaseException: pass"
    result = await call("shell", command=f"import time\n{deaf}", python=True, timeout_s=1)
    assert result.status == "failed"
    assert re.fullmatch(r"\[killed after \d+ s; its variables are lost\]", result.content)
    assert started[0].pid not in living()
    assert not held_resources.resources_of("a session")
    assert NEW in (await call("shell", command="1", python=True)).content


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("import os; os._exit(7)", "[Python ended with exit code 7; its variables are lost]"),
        ("import os; os.kill(os.getpid(), 9)", "[Python ended with exit code 137; its variables are lost]"),
    ],
)
async def test_the_end_of_the_process_is_told(call: Call, code: str, ending: str) -> None:
    assert content_of(await call("shell", command=f"print('x')\n{code}", python=True)) == ("x", ending)
    assert NEW in (await call("shell", command="1", python=True)).content


async def test_memory_is_bounded(call: Call) -> None:
    result = await call("shell", command="held = bytearray(3 << 30)", python=True)
    assert "MemoryError" in result.content
    assert "2 GiB" in result.notes[0]


async def test_cancelled_call_ends_the_process(call: Call, started: list[ProcessIdentity], reported: list[str]) -> None:
    running = asyncio.ensure_future(
        call("shell", command="import subprocess\nprint(1)\nsubprocess.run(['sleep', '1000'])", python=True)
    )
    while not reported:  # noqa: ASYNC110  a list has no event
        await asyncio.sleep(0.01)
    assert os.getpgid(started[0].pid) == started[0].pid
    running.cancel()
    with takes_less_than(2), pytest.raises(asyncio.CancelledError):
        await running
    assert started[0].pid not in living()
    assert not held_resources.resources_of("a session")


async def test_idle_process_ends(call: Call, started: list[ProcessIdentity], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_process, "IDLE_S", 0.2)
    await call("shell", command="1", python=True)
    async with asyncio.timeout(30):
        while started[0].pid in living():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert not held_resources.resources_of("a session")


async def test_the_least_recently_used_process_makes_room(
    tool_context: ToolContext, started: list[ProcessIdentity], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python_process, "MAX_PROCESSES", 2)
    one, two, three = (replace(tool_context, session=name) for name in ("one", "two", "three"))
    for context in (one, two, one, three):
        await run(context, "1")
    try:
        assert [number for number, process in enumerate(started) if process.pid in living()] == [0, 2]
        assert NEW not in (await run(one, "1")).content
        assert not held_resources.resources_of("two")
    finally:
        for session in ("one", "two", "three"):
            await pythons.end(session)
            await sandboxes.end(session)


async def test_other_rights_need_another_process(tool_context: ToolContext) -> None:
    await run(tool_context, "n = 1")
    assert NEW not in (await run(tool_context, "n")).content
    restricted = replace(tool_context, mask=lambda: Mask(hidden=("secret.txt",)))
    assert "NameError" in (await run(restricted, "n")).content
    networked = replace(restricted, network=NetworkPolicy(only_hosts=frozenset({"pypi.org"})))
    assert NEW in (await run(networked, "1")).content


async def test_secrets_are_values_in_the_code_whatever_they_contain(tool_context: ToolContext) -> None:
    value = "a'b\"c\\d{e}\n"
    context = replace(tool_context, secrets={"[secret:KEY]": value})
    code = "n = 1\nprint(len('[secret:KEY]'), len(f'x[secret:KEY]{n}'), len(b'[secret:KEY]'), len([secret:KEY]))"
    size = len(value)
    assert content_of(await run(context, code))[0] == f"{size} {size + 2} {size} {size}"
    traceback = content_of(await run(context, "int('[secret:KEY]'[:0])"))[0]
    assert "[secret:KEY]" in traceback
    assert value not in traceback


async def test_docker_has_none(tool_context: ToolContext) -> None:
    with pytest.raises(ToolError, match="No Python stays under docker"):
        await run(replace(tool_context, sandbox=Docker()), "1")


def test_the_outline_tells_code_from_commands() -> None:
    assert compact_line("shell", {"command": "ls"}) == "shell: ls"
    assert compact_line("shell", {"command": "len(rows)", "python": True}) == "shell (python: True): len(rows)"


def test_python_does_not_run_in_the_background() -> None:
    with pytest.raises(InvalidArguments, match="python and background do not go together"):
        base.validate(registry.get("shell"), {"command": "1", "python": True, "background": True})


@pytest.mark.parametrize(
    ("code", "danger"),
    [("open('a').read()", Danger.MODERATE), ("import shutil; shutil.rmtree('src')", Danger.DANGEROUS)],
)
def test_code_is_judged_like_a_command_with_it(code: str, danger: Danger, workspace: Workspace) -> None:
    workspace.write_bytes("src/main.py", b"x")
    definition = registry.get("shell")
    arguments = base.validate(definition, {"command": code, "python": True})
    assert definition.judgement(arguments, workspace).danger is danger
    command = f'python3 -c "{code}"'
    assert definition.judgement(base.validate(definition, {"command": command}), workspace).danger is danger


def test_code_is_restricted_like_a_command_with_it(workspace: Workspace) -> None:
    arguments = base.validate(registry.get("shell"), {"command": "open('keys/a.pem')", "python": True})
    assert "blocked" in Restrictions(commands=["python3"]).refusal_reason(arguments, workspace)
    assert "restricted" in Restrictions(paths=["keys"]).refusal_reason(arguments, workspace)

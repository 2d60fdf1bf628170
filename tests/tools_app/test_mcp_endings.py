"""Tests that nothing is left of an MCP server on stdio after its connection ends, however it was started."""

import asyncio
import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests import waiting
from tests.processes import living
from tests.tools_app.test_mcp_tools import BARE
from tools_app.contract import McpEndpoint
from tools_app.errors import ToolError
from tools_app.mcp.connection import McpConnection

ROOT = Path(__file__).parents[2]
HANG = {"do": "call", "name": "hang", "arguments": {}}
HOLDER = """
import asyncio, json, sys
from tools_app.contract import McpEndpoint
from tools_app.mcp.connection import McpConnection

async def main():
    command, environment = json.loads(sys.argv[1])
    endpoint = McpEndpoint(name="n", transport="stdio", command=command, environment=environment, timeout_s=60)
    connection = McpConnection(endpoint)
    await connection.ask({"do": "list"})
    print("ready", flush=True)
    await connection.ask({"do": "call", "name": "hang", "arguments": {}})

asyncio.run(main())
"""


@pytest.fixture
def server(tmp_path: Path) -> McpEndpoint:
    """Return a server started as npx, uvx and shells start one, with a child that has left its group and its parent."""
    words = f"(setsid sleep 60 &); {shlex.join(BARE.command)}; true"
    return replace(BARE, command=("sh", "-c", words), environment={"MARK": str(tmp_path)})


@pytest.fixture
def left(tmp_path: Path) -> Callable[[], set[int]]:
    """Return its running processes, which are found by their inherited environment."""

    def found() -> set[int]:
        return {pid for pid in living() if f"MARK={tmp_path}".encode() in _environment(pid)}

    return found


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


async def test_cancelled_call_leaves_no_processes(server: McpEndpoint, left: Callable[[], object]) -> None:
    connection = McpConnection(server)
    await connection.ask({"do": "list"})
    assert left()
    hanging = asyncio.create_task(connection.ask(HANG))
    await asyncio.sleep(0.2)
    hanging.cancel()
    done, _ = await asyncio.wait({hanging}, timeout=10)
    assert done
    assert not left()


async def test_closed_connection_leaves_no_processes(server: McpEndpoint, left: Callable[[], object]) -> None:
    connection = McpConnection(server)
    await connection.ask({"do": "list"})
    closing = asyncio.create_task(connection.close())
    done, _ = await asyncio.wait({closing}, timeout=10)
    assert done
    assert not left()


async def test_server_that_ends_itself_leaves_no_processes(server: McpEndpoint, left: Callable[[], object]) -> None:
    """The leftover process holds no pipe of the server. Otherwise the end would only be noticed with its end, or a
    timeout.
    """
    words = server.command[2].replace("sleep 60", "sleep 60 >/dev/null 2>&1")
    connection = McpConnection(replace(server, command=("sh", "-c", words)))
    with pytest.raises(ToolError):
        await connection.ask({"do": "call", "name": "die", "arguments": {}})
    await asyncio.to_thread(waiting.until, lambda: not left(), 10)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_hanging_server_ends_with_ours(end: signal.Signals, server: McpEndpoint, left: Callable[[], object]) -> None:
    order = json.dumps([server.command, server.environment])
    with subprocess.Popen([sys.executable, "-c", HOLDER, order], stdout=subprocess.PIPE, cwd=ROOT) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        waiting.until(left)
        holder.send_signal(end)
    waiting.until(lambda: not left(), 10)

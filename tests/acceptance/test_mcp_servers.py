"""MCP servers of the configuration file: their tools run seconds after the start, and they end with the server."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.acceptance.conftest import CONFIG
from tests.acceptance.test_main_job import start
from tests.server import Server, configured, free_port
from tests.tasks_app.engine.conftest import call, result, script
from tests.tools_app import mcp_servers
from tests.waiting import until

NOTES, BARE = (str(Path(mcp_servers.__file__).with_name(name)) for name in ("notes.py", "bare.py"))


@pytest.fixture
def remote() -> Iterator[int]:
    """The port of an MCP server over HTTP."""
    port = free_port()
    process = subprocess.Popen([sys.executable, NOTES, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: _listens(port))
    yield port
    process.kill()
    process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def server(tmp_path: Path, remote: int) -> Iterator[Server]:
    servers = [
        {"name": "near", "transport": "stdio", "command": [sys.executable, BARE]},
        {"name": "far", "transport": "streamable_http", "url": f"http://127.0.0.1:{remote}/mcp"},
        {"name": "down", "transport": "stdio", "command": ["/no/such/program"]},
    ]
    server = configured(tmp_path, CONFIG + yaml.safe_dump({"mcp_servers": servers}))
    yield server.start()
    server.kill()


def _play(server: Server, *calls: dict[str, object]) -> list[tuple[str, str]]:
    """Return the results of a task that makes these calls."""
    session, task = start(server, script(*calls, result()))
    server.until_task(task, state="done")
    return [
        (entry["metadata"]["status"], entry["content"])
        for entry in server.entries(session)
        if entry["context_type"] == "tool_result"
    ]


def _names(server: Server) -> set[str]:
    return {tool["name"] for tool in server.call("GET", "tools/")["results"]}


def test_configured_tools_run_seconds_after_the_start_and_end_with_it(server: Server) -> None:
    until(lambda: {"near__add", "far__add"} <= _names(server))
    assert _play(server, call("load_tools", group="far"), call("far__add", a=1, b=2))[1] == ("succeeded", "3")
    near = _play(server, call("load_tools", group="near"), call("near__add", a=1, b=2), call("near__pid"))
    assert near[1] == ("succeeded", "3")
    pid = int(near[2][1])
    assert Path(f"/proc/{pid}").exists()
    server.kill()
    until(lambda: not Path(f"/proc/{pid}").exists(), 10)
    server.start()
    assert _play(server, call("load_tools", group="near"), call("near__add", a=2, b=2))[1] == ("succeeded", "4")

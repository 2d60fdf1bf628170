"""Reports of what MCP servers really answered: each is played by a real server, against a whole task."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tasks_app import services
from tasks_app.worker import mcp_refresh
from tests import waiting
from tests.server import free_port
from tests.tasks_app.engine.conftest import Run, call, play, result
from tools_app.models import McpServer

__all__ = ["play"]
FOLDER = Path(__file__).with_name("mcp_reports")
PLAYER = str(Path(__file__).with_name("mcp_player.py"))
NAMES = sorted(file.stem for file in FOLDER.glob("*.json"))


@dataclass(frozen=True, kw_only=True)
class PlayedServer:
    """A server that plays a report, and the requests that it has received."""

    row: McpServer
    log: Path
    fault: str

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def count(self, request: str) -> int:
        return sum(entry["request"] == request for entry in self.requests)


@contextmanager
def served(report: dict[str, Any], folder: Path) -> Iterator[PlayedServer]:
    """Start the report's server and list its tools as a worker does. Afterwards the report begins again."""
    file, log = folder / "report.json", folder / "log.jsonl"
    file.write_text(json.dumps(report))
    command = [sys.executable, PLAYER, str(file), str(log)]
    row = McpServer(name="remote", transport="stdio", command=command, timeout_s=report.get("timeout_s", 20))
    if report["transport"] == "stdio":
        row.save()
        yield PlayedServer(row=row, log=log, fault=mcp_refresh.refresh(row))
        return
    port = free_port()
    row.transport, row.command, row.url = "streamable_http", [], f"http://127.0.0.1:{port}/mcp"
    row.save()
    with listening(command, port):
        fault = mcp_refresh.refresh(row)
    with listening(command, port):
        yield PlayedServer(row=row, log=log, fault=fault)


@contextmanager
def listening(command: list[str], port: int) -> Iterator[None]:
    with subprocess.Popen([*command, str(port)], stderr=subprocess.DEVNULL) as process:
        try:
            waiting.until(lambda: _answers(port))
            yield
        finally:
            process.kill()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def load(name: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return report


@pytest.mark.parametrize("name", NAMES)
def test_report(play: Callable[..., Run], tmp_path: Path, name: str) -> None:
    """The calls of `expect` run in one task. Their results, the listed tools and the server's log are compared."""
    report = load(name)
    expect = report["expect"]
    with served(report, tmp_path) as server:
        server.row.refresh_from_db()
        assert server.fault == ""
        if "tools" in expect:
            assert sorted(server.row.tools.values_list("name", flat=True)) == sorted(expect["tools"])
        for tool, reason in expect.get("skipped", {}).items():
            assert reason in server.row.skipped[tool]
        assert set(server.row.skipped) == set(expect.get("skipped", {}))
        server.log.unlink(missing_ok=True)
        calls = expect.get("calls", [])
        run = play(*[call(f"remote__{item['name']}", **item.get("arguments", {})) for item in calls], result())
        task = run.advance()
        assert (task.state, task.failure_detail) == ("done", "")
        for item, (status, text) in zip(calls, run.results(), strict=False):
            assert status == item.get("status", "succeeded"), text
            for words in item.get("contains", ()):
                assert words in text
            for words in item.get("lacks", ()):
                assert words not in text
        server.row.refresh_from_db()
        assert (server.row.listed_at is None) == expect.get("is_listed_again", False)
        services.delete_session(run.task.session)
        for request, count in expect.get("requests", {}).items():
            waiting.until(lambda request=request, count=count: server.count(request) == count)
        for entry in expect.get("received", ()):
            assert any(entry.items() <= received.items() for received in server.requests), server.requests


@pytest.mark.parametrize("transport", ["stdio", "streamable HTTP"])
def test_a_stop_cancels_the_call_at_the_server(play: Callable[..., Run], tmp_path: Path, transport: str) -> None:
    exchanges = [
        {"expect": "POST initialize", "headers": {"Mcp-Session-Id": "one"}},
        {"expect": "tools/call ping", "then": "hang"},
    ]
    report = {"transport": transport, "exchanges": exchanges[transport == "stdio" :]}
    with served(report, tmp_path) as server:
        server.log.unlink()
        run = play(call("remote__ping"), result())
        thread = run.in_thread()
        waiting.until(lambda: server.count("tools/call ping") == 1)
        services.stop(run.task)
        thread.join(30)
        waiting.until(lambda: server.count("notifications/cancelled") == 1)
        end = "end of stdin" if transport == "stdio" else "DELETE"
        waiting.until(lambda: server.count(end) == 1)

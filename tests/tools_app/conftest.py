"""Fixtures for the tests of tools: a workspace in a new folder, and a context around it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tools_app.contract import ToolContext, ToolResult, base, registry
from tools_app.files import Workspace
from tools_app.network import NetworkPolicy
from tools_app.sandbox import CommandOutcome, ProcessIdentity, Sandbox, ShellCommand
from tools_app.sandbox.choice import choose_sandbox
from tools_app.sandbox.session_sandboxes import sandboxes

Call = Callable[..., Awaitable[ToolResult]]


class NoSandbox:
    """A sandbox for tools that must not run a program."""

    name: ClassVar[str] = "none"
    weakness: ClassVar[str] = ""

    def probe(self) -> str:
        return "this test has no sandbox"

    async def run(self, command: ShellCommand, **_: Any) -> CommandOutcome:
        raise AssertionError(f"a program was started: {command.text}")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")


@pytest.fixture(params=["bubblewrap", "local"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """A sandbox that runs programs, for tests that put it into their context."""
    if (found := choose_sandbox(request.param)).probe():
        pytest.skip(found.probe())
    return found


@pytest.fixture
def started() -> list[ProcessIdentity]:
    """The processes that a context of the test has reported."""
    return []


@pytest.fixture
def reported() -> list[str]:
    return []


@pytest.fixture
def tool_context(workspace: Workspace, reported: list[str]) -> Iterator[ToolContext]:
    """A context whose sandbox ends with the test. Otherwise later tests would find the session in this process."""
    yield ToolContext(
        session="a session",
        workspace=workspace,
        sandbox=NoSandbox(),
        network=NetworkPolicy(),
        page_bytes=100_000,
        report=reported.append,
        started=lambda started: None,
    )
    if "a session" in sandboxes.sessions():
        asyncio.run(sandboxes.end("a session"))


@pytest.fixture
def call(tool_context: ToolContext) -> Call:
    """Call a tool as the engine does: by its name, with arguments that went through JSON."""

    async def run(name: str, /, **arguments: Any) -> ToolResult:
        definition = registry.get(name)
        result = definition.handler(base.read_arguments(definition, json.dumps(arguments)), tool_context)
        return result if isinstance(result, ToolResult) else await result

    return run

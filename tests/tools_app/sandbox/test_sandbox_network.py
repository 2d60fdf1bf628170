"""Tests that commands reach allowed hosts through the filtering proxy, and nothing else."""

from dataclasses import replace

import pytest

from tests.tools_app.conftest import Call
from tests.tools_app.test_network_guard import hello, serving
from tools_app.contract import ToolContext
from tools_app.files import Workspace, workspace_owner
from tools_app.network import NetworkPolicy
from tools_app.sandbox.choice import choose_sandbox

FETCH = """python3 - <<'END'
import urllib.request
try:
    print(urllib.request.urlopen("{url}", timeout=10).read().decode())
except Exception as error:
    print("no:", error)
END"""


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    return Workspace(workspace.root, owner=workspace_owner())


@pytest.fixture
def tool_context(tool_context: ToolContext) -> ToolContext:
    if (found := choose_sandbox("bubblewrap")).probe():
        pytest.skip(found.probe())
    return replace(tool_context, sandbox=found, network=NetworkPolicy(only_hosts=frozenset()))


async def run_with(tool_context: ToolContext, call: Call, command: str, policy: NetworkPolicy) -> str:
    object.__setattr__(tool_context, "network", policy)  # the context that `call` uses
    return (await call("shell", command=command, timeout_s=30)).content


async def test_only_allowed_hosts_are_reached(tool_context: ToolContext, call: Call) -> None:
    async with serving(hello) as server:
        address = f"127.0.0.1:{server.port}"
        policy = NetworkPolicy(only_hosts=frozenset({"127.0.0.1"}), allow_internal=frozenset({address}))
        command = "unset NO_PROXY no_proxy; " + FETCH.format(url=f"http://{address}/x")
        assert "hello from /x" in await run_with(tool_context, call, command, policy)
        other = NetworkPolicy(only_hosts=frozenset({"wiki.example"}), allow_internal=frozenset({address}))
        assert "no: HTTP Error 403" in await run_with(tool_context, call, command, other)


async def test_internal_address_needs_separate_permission(tool_context: ToolContext, call: Call) -> None:
    async with serving(hello) as server:
        command = "unset NO_PROXY no_proxy; " + FETCH.format(url=f"http://127.0.0.1:{server.port}/")
        said = await run_with(tool_context, call, command, NetworkPolicy(only_hosts=frozenset({"*"})))
    assert "no: HTTP Error 403" in said


async def test_proxy_cannot_be_bypassed(tool_context: ToolContext, call: Call) -> None:
    async with serving(hello) as server:
        address = f"127.0.0.1:{server.port}"
        policy = NetworkPolicy(only_hosts=frozenset({"127.0.0.1"}), allow_internal=frozenset({address}))
        command = "env -i PATH=$PATH " + FETCH.format(url=f"http://{address}/")
        assert "no: <urlopen error" in await run_with(tool_context, call, command, policy)


async def test_command_keeps_its_exit_code_and_leaves_nothing(tool_context: ToolContext, call: Call) -> None:
    said = await run_with(tool_context, call, "sleep 100 & exit 7", NetworkPolicy(only_hosts=frozenset({"pypi.org"})))
    assert said.startswith("[exit code 7")


async def test_no_proxy_without_allowed_hosts(tool_context: ToolContext, call: Call) -> None:
    said = await run_with(tool_context, call, "env", NetworkPolicy(only_hosts=frozenset()))
    assert "PROXY" not in said.upper().replace("NO_PROXY", "")


@pytest.mark.parametrize(
    ("only", "host", "known"),
    [
        ({"pypi.org"}, "pypi.org", True),
        ({"pypi.org"}, "PyPI.org.", True),
        ({"pypi.org"}, "www.pypi.org", False),
        ({"*.pypi.org"}, "files.pypi.org", True),
        ({"*.pypi.org"}, "a.b.pypi.org", True),
        ({"*.pypi.org"}, "pypi.org", False),
        ({"*.pypi.org"}, "evilpypi.org", False),
        ({"*"}, "anything.example", True),
        (set(), "pypi.org", False),
        (None, "pypi.org", True),
    ],
)
def test_host_patterns(only: set[str] | None, host: str, known: bool) -> None:
    policy = NetworkPolicy(only_hosts=None if only is None else frozenset(only))
    assert policy.includes_host(host) is known

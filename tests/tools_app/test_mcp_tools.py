"""Tests of tools of MCP servers, run against the SDK's server: a broken server costs only its own call."""

import asyncio
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from tests import waiting
from tests.contracts.openai_tools import bad_tool
from tests.tools_app import mcp_servers
from tests.tools_app.conftest import NoSandbox
from tools_app.contract import McpEndpoint, ToolContext, ToolResult
from tools_app.errors import ToolError
from tools_app.files import Workspace
from tools_app.mcp.connection import McpConnection
from tools_app.mcp.listing import ListedTool, listing_of
from tools_app.mcp.pool import pool
from tools_app.mcp.result import result_of
from tools_app.mcp.tool import call
from tools_app.network import NetworkPolicy

SERVER = str(Path(mcp_servers.__file__).with_name("notes.py"))
ON_STDIO = McpEndpoint(
    name="notes", transport="stdio", command=(sys.executable, SERVER, "stdio"), environment={"KEY": "x"}, timeout_s=60
)
BARE = replace(ON_STDIO, command=(sys.executable, str(Path(SERVER).with_name("bare.py"))))


pytestmark = pytest.mark.asyncio(loop_scope="module")  # a server starts slowly, so harmless tests share one


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tool_context(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ToolContext]:
    """Return a context whose server is the SDK's."""
    async for context in _contexts("a session", ON_STDIO, tmp_path_factory):
        yield context


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bare(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ToolContext]:
    """Return a server for tests that end it."""
    async for context in _contexts("another session", BARE, tmp_path_factory):
        yield context


async def _contexts(
    session: str, endpoint: McpEndpoint, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ToolContext]:
    async def target(server: str) -> McpEndpoint:
        return endpoint

    yield ToolContext(
        session=session,
        workspace=Workspace(tmp_path_factory.mktemp("mcp")),
        sandbox=NoSandbox(),
        network=NetworkPolicy(),
        mcp_target=target,
        report=lambda text: None,
        started=lambda started: None,
    )
    await pool.close(session)


def _runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def listed(target: McpEndpoint) -> dict[str, ListedTool]:
    connection = McpConnection(target)
    try:
        return {tool.name: tool for tool in (await connection.open()).tools}
    finally:
        await connection.close()


_digests: dict[tuple[str, ...], dict[str, str]] = {}


async def run(context: ToolContext, name: str, **arguments: object) -> ToolResult:
    endpoint = await context.mcp_target("notes")
    if endpoint.command not in _digests:
        _digests[endpoint.command] = {tool.name: tool.digest for tool in (await listed(endpoint)).values()}
    return await call("notes", name, _digests[endpoint.command][name], arguments, context)


async def test_calls_share_a_connection_and_its_state(tool_context: ToolContext) -> None:
    assert (await run(tool_context, "add", a=1, b=2)).content == "3"
    assert (await run(tool_context, "keep", text="a")).content == "1 notes"
    assert (await run(tool_context, "keep", text="b")).content == "2 notes"
    failed = await run(tool_context, "fail")
    assert (failed.status, failed.content) == ("failed", "Error executing tool fail")


async def test_picture_is_stored_in_the_workspace_and_shown(tool_context: ToolContext) -> None:
    result = await run(tool_context, "picture")
    assert result.images[0].endswith(".png")
    assert tool_context.workspace.read_bytes(result.images[0]).startswith(b"\x89PNG")


async def test_slow_storing_of_a_picture_does_not_block(
    tool_context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workspace counts its files first, which takes long if there are many."""
    threads: list[int] = []
    monkeypatch.setattr(Workspace, "write_bytes", lambda *_: threads.append(threading.get_ident()))
    await run(tool_context, "picture")
    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("data", ["a", "é"])
async def test_unreadable_picture_is_reported(data: str, tmp_path: Path) -> None:
    parts = [{"type": "image", "mimeType": "image/png", "data": data}, {"type": "text", "text": "a picture"}]
    result = result_of({"result": {"content": parts}}, Workspace(tmp_path), 1000)
    assert (result.content, result.notes) == ("a picture", ["[A file of this result (image/png) could not be read.]"])


async def test_program_does_not_inherit_our_environment(tool_context: ToolContext) -> None:
    names = (await run(tool_context, "environment")).content.split()
    assert set(names) <= {"KEY", "HOME", "PATH", "LC_CTYPE", "LANG", "PWD", "SHLVL", "_"}


async def test_next_call_works_after_a_server_dies_or_floods(bare: ToolContext) -> None:
    for name in ("die", "flood"):  # one ends by itself, one is ended by us
        with pytest.raises(ToolError, match="The MCP server notes"):
            await run(bare, name)
        assert (await run(bare, "add", a=1, b=2)).content == "3"


async def test_hanging_server_is_ended_with_its_program(bare: ToolContext) -> None:
    number = int((await run(bare, "pid")).content)
    running = asyncio.create_task(run(bare, "hang"))
    await asyncio.sleep(0.2)
    running.cancel()  # as an interrupt does
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.to_thread(waiting.until, lambda: not _runs(number))
    assert (await run(bare, "add", a=1, b=2)).content == "3"


async def test_full_pool_closes_the_longest_idle_connection(bare: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools_app.mcp.pool.MAX_CONNECTIONS", 2)
    await pool.close(bare.session)
    monkeypatch.setattr(pool, "_connections", {})  # connections of other tests belong to another event loop
    busy, idle, other = (replace(bare, session=name) for name in ("busy", "idle", "other"))
    await run(busy, "add", a=1, b=2)
    hanging = asyncio.create_task(run(busy, "hang"))
    await run(idle, "add", a=1, b=2)
    first = int((await run(idle, "pid")).content)
    assert int((await run(other, "pid")).content) != first
    await asyncio.to_thread(waiting.until, lambda: not _runs(first))
    assert not hanging.done(), "one that is in a call is never closed"
    also_busy = asyncio.create_task(run(other, "hang"))
    await asyncio.sleep(0)
    with pytest.raises(ToolError, match="All 2 connections to MCP servers are in use"):
        await run(idle, "add", a=1, b=2)
    hanging.cancel(), also_busy.cancel()
    await asyncio.gather(hanging, also_busy, return_exceptions=True)
    assert (await run(idle, "add", a=1, b=2)).content == "3"
    for name in ("busy", "idle", "other"):
        await pool.close(name)


async def test_timeout_reports_an_unknown_effect() -> None:
    connection = McpConnection(replace(ON_STDIO, timeout_s=0.5))
    with pytest.raises(ToolError, match=r"did not answer within 0 s. Whether the call had an effect is unknown"):
        await connection.ask({"do": "list"})
    assert not connection.is_open


async def test_tool_changed_after_confirmation_is_not_called(tool_context: ToolContext) -> None:
    with pytest.raises(ToolError, match="has changed since an administrator confirmed it"):
        await call("notes", "keep", "0" * 64, {"text": "x"}, tool_context)
    assert (await run(tool_context, "add", a=1, b=2)).content == "3"


async def test_missing_program_is_reported() -> None:
    connection = McpConnection(replace(ON_STDIO, command=("/no/such/program",)))
    with pytest.raises(ToolError, match="The MCP server notes"):
        await connection.ask({"do": "list"})


@pytest.fixture
def on_http() -> Iterator[McpEndpoint]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, SERVER, str(port)], stderr=subprocess.DEVNULL) as process:
        waiting.until(lambda: _answers(port), seconds=60)
        yield McpEndpoint(name="notes", transport="streamable_http", url=f"http://127.0.0.1:{port}/mcp", timeout_s=60)
        process.kill()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_http_server_works_the_same_way(on_http: McpEndpoint) -> None:
    connection = McpConnection(on_http)
    tools = (await connection.open()).tools
    assert (await connection.ask({"do": "list"}))["protocol"] == "2026-07-28"
    answer = await connection.ask({"do": "call", "name": "add", "arguments": {"a": 2, "b": 3}})
    await connection.close()
    assert "add" in {tool.name for tool in tools}
    assert answer["result"]["content"][0]["text"] == "5"


async def test_lists_of_any_value_get_items_for_openai() -> None:
    whatever = {"type": "object", "properties": {"items": {"type": ["array", "null"]}}}
    pairs = {"type": "array", "prefixItems": [{"type": "string"}]}
    schema = {
        "properties": {"a": {"type": "array"}, "b": whatever, "type": {"anyOf": [pairs]}, "c": {"type": "string"}}
    }
    (tool,) = listing_of("server", {"tools": [{"name": "t", "description": "", "inputSchema": schema}]}).tools
    listed = json.loads(tool.schema)["properties"]
    assert listed["a"] == {"type": "array", "items": {}}
    assert listed["b"]["properties"] == {"items": {"type": ["array", "null"], "items": {}}}
    assert (listed["type"], listed["c"]) == ({"anyOf": [pairs]}, {"type": "string"})
    function = {"name": tool.name, "parameters": json.loads(tool.schema)}
    assert bad_tool([function]) is None
    assert bad_tool([function | {"parameters": {"type": "object", **schema}}]) is not None


async def test_unusable_tools_are_skipped_with_a_reason() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    good = {"name": "a", "description": "x\0 y", "inputSchema": schema}
    bad = [
        {**good, "name": "elsewhere", "inputSchema": {"type": "object", "$ref": "http://elsewhere/schema"}},
        {**good, "name": "number", "inputSchema": {"properties": 5}},
        {
            **good,
            "name": "draft3",
            "inputSchema": {"type": "object", "$schema": "http://json-schema.org/draft-03/schema#"},
        },
        {**good, "name": "untyped", "inputSchema": {"anyOf": [schema]}},
        {**good, "name": "text", "inputSchema": {"type": "string"}},
        {**good, "name": "out", "outputSchema": {"type": "array"}},
        {"name": "none"},
        {"inputSchema": schema},
        {**good, "name": 7},
        "word",
        good,
    ]
    listing = listing_of("server", {"tools": [good, *bad]})
    assert [(tool.name, tool.description) for tool in listing.tools] == [("a", "x y")]
    assert listing.skipped == {
        "elsewhere": "Its inputSchema cannot be used. Its reference 'http://elsewhere/schema' leads to no place in the schema "
        "itself.",
        "number": "Its inputSchema cannot be used. It is no JSON Schema: $.properties: 5 is not of type 'object'.",
        "draft3": "Its inputSchema cannot be used. Draft 3 of JSON Schema is too old. Write it in draft 2020-12.",
        "untyped": "Its inputSchema has no type; the protocol requires the type object.",
        "text": 'Its inputSchema has the type "string"; the protocol requires the type object.',
        "out": 'Its outputSchema has the type "array"; the protocol requires the type object.',
        "none": "It has no inputSchema, or one that is no object.",
        "tool 9 of the list": "It has no name.",
        "tool 10 of the list": "It has no name.",
        "tool 11 of the list": "It is no object.",
        "a": "Another tool of the list has the same name; the first is used.",
    }


async def test_other_names_are_mapped_and_stay_the_same() -> None:
    own = ["admin.tools.list", "user/update", "plain", "a.b", "a/b", "a_b", "with space", "größe", "...", "n" * 90]
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in own]
    names = {tool.own_name: tool.name for tool in listing_of("server", {"tools": tools}).tools}
    assert {own_name: names[own_name] for own_name in own[:3]} == {
        "admin.tools.list": "admin_tools_list",
        "user/update": "user_update",
        "plain": "plain",
    }
    assert names["a_b"] == "a_b"
    assert len(set(names.values())) == len(own)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) and len(f"server__{name}") <= 64 for name in names.values())
    reversed_names = {tool.own_name: tool.name for tool in listing_of("server", {"tools": tools[::-1]}).tools}
    assert names == reversed_names


async def test_digests_of_confirmed_tools_stay_the_same() -> None:
    """A changed digest withholds the tools of all servers until an administrator confirms them."""
    tool = {
        "name": "a",
        "title": "A",
        "description": " Adds  two.",
        "inputSchema": {"type": "object"},
        "annotations": {},
    }
    (listed,) = listing_of("server", {"tools": [tool]}).tools
    assert listed.digest == "c4187569d38439930c5ace08cdfdca546592bf103fc0b5eebd4b47adb9886294"


async def test_annotations_are_read() -> None:
    hints = [{"readOnlyHint": True}, {"destructiveHint": True}, {"readOnlyHint": "yes"}, None, {}]
    tools = [
        {"name": f"t{number}", "inputSchema": {"type": "object"}, "annotations": hint}
        for number, hint in enumerate(hints)
    ]
    listed = listing_of("server", {"tools": tools}).tools
    assert [(tool.is_read_only, tool.is_destructive) for tool in listed] == [(True, False), (False, True)] + [
        (False, False)
    ] * 3

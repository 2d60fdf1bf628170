"""The wrapper that makes a tool of an MCP server a tool of this server: `server__tool`."""

import asyncio
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from pydantic import ConfigDict

from tools_app.contract import Arguments, Danger, Judgement, Target, ToolContext, ToolDefinition, ToolResult
from tools_app.errors import ToolError
from tools_app.files import Workspace
from tools_app.mcp.connection import CallRejected, McpConnection
from tools_app.mcp.pool import pool
from tools_app.mcp.result import result_of


class McpArguments(Arguments):
    """Any arguments. `mcp.arguments` checks them against the server's schema."""

    model_config = ConfigDict(extra="allow", frozen=True)


@lru_cache(maxsize=1024)
def mcp_tool(
    *,
    server: str,
    tool: str,
    description: str,
    schema: str,
    digest: str,
    danger: str,
    is_destructive: bool = False,
    loop_exempt: bool = False,
) -> ToolDefinition:
    """Return the definition of a server's tool. It is cached, so that an unchanged tool list is the same object.

    `digest` is the one that an administrator confirmed.
    """

    async def handler(arguments: McpArguments, context: ToolContext) -> ToolResult:
        return await call(server, tool, digest, arguments.model_dump(mode="json"), context)

    return ToolDefinition(
        name=f"{server}__{tool}",
        description=description,
        arguments=McpArguments,
        handler=handler,
        danger=Danger[danger.upper()],
        target=Target.MCP,
        judge=_destructive if is_destructive else None,
        compact_template=f"{server}__{tool}",
        loop_exempt=loop_exempt,
        own_schema=schema,
        group=server,
    )


def _destructive(arguments: McpArguments, workspace: Workspace) -> Judgement:
    return Judgement(danger=Danger.DANGEROUS, rule="its server calls it destructive")


async def call(server: str, tool: str, digest: str, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
    """Call the server's tool. A call that the server cannot have run is repeated once, over a new connection.

    Raises: ToolError, also if the tool's digest is no longer the confirmed one.
    """
    target = await context.mcp_target(server)
    with pool.using(context.session, target) as connection:
        try:
            answer = await _answer(connection, tool, digest, arguments, context.report)
        except CallRejected:
            answer = await _answer(connection, tool, digest, arguments, context.report)
        has_new_tools = connection.listing is None
    if has_new_tools:
        await context.relist_mcp_tools(server)
    return await asyncio.to_thread(result_of, answer, context.workspace, context.page_bytes)


async def _answer(
    connection: McpConnection, tool: str, digest: str, arguments: dict[str, Any], report: Callable[[str], None]
) -> dict[str, Any]:
    listing = await connection.open()
    listed = next((item for item in listing.tools if item.name == tool), None)
    if listed is None or listed.digest != digest:
        raise ToolError(
            f"The tool {tool} of {connection.target.name} has changed since an administrator confirmed it, so it was "
            "not called. Use another way, or say that it must be confirmed again."
        )
    return await connection.ask({"do": "call", "name": listed.own_name, "arguments": arguments}, report)

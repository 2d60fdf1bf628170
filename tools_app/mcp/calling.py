"""One call of an MCP server's tool."""

from typing import Any

from tools_app.contract.base import ToolContext, ToolResult
from tools_app.errors import ToolError
from tools_app.mcp.connection import Connection
from tools_app.mcp.listing import tools_of
from tools_app.mcp.pool import pool
from tools_app.mcp.result import result_of


async def call(server: str, tool: str, digest: str, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
    """Raises ToolError, also if the tool is not any more what an administrator confirmed (`digest`)."""
    target = await context.mcp_target(server)
    with pool.using(context.session, target, context.started) as connection:
        await _open(connection, server)
        if connection.known.get(tool) != digest:
            raise ToolError(
                f"The tool {tool} of {server} has changed since an administrator confirmed it, so it was not called. "
                "Use another way, or say that it must be confirmed anew."
            )
        answer = await connection.ask({"do": "call", "name": tool, "arguments": arguments})
    return result_of(answer["result"], context.workspace)


async def _open(connection: Connection, server: str) -> None:
    """A new one asks first what the server offers now."""
    if connection.is_open:
        return
    await connection.open()
    listed = {each.name: each.digest for each in tools_of(server, await connection.ask({"do": "list"}))}
    connection.known.clear()
    connection.known.update(listed)

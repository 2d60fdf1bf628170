"""A tool of an MCP server as one of ours: `server__tool`."""

from functools import lru_cache

from pydantic import ConfigDict

from tools_app.contract.base import Arguments, Danger, Target, ToolContext, ToolDefinition, ToolResult
from tools_app.mcp.calling import call


class McpArguments(Arguments):
    """Whatever the server's schema says; `checking` reads them by it."""

    model_config = ConfigDict(extra="allow", frozen=True)


@lru_cache(maxsize=1024)
def mcp_tool(*, server: str, tool: str, description: str, schema: str, digest: str, danger: str) -> ToolDefinition:
    """Made once as long as nothing of it changes: so the tool list stays the same object. `digest` was confirmed."""

    async def handler(arguments: McpArguments, context: ToolContext) -> ToolResult:
        return await call(server, tool, digest, arguments.model_dump(mode="json"), context)

    return ToolDefinition(
        name=f"{server}__{tool}",
        description=description,
        arguments=McpArguments,
        handler=handler,
        danger=Danger[danger.upper()],
        target=Target.MCP,
        compact_template=f"{server}__{tool}",
        own_schema=schema,
        group=server,
    )

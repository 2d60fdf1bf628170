"""The wrapper that makes a tool of an MCP server a tool of this server: `server__tool`."""

import asyncio
import base64
import json
import mimetypes
import secrets
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import ConfigDict

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolDefinition, ToolResult
from tools_app.errors import ToolError
from tools_app.files import RESULTS, Workspace
from tools_app.mcp.connection import McpConnection, tools_of
from tools_app.mcp.pool import pool
from tools_app.paging import size


class McpArguments(Arguments):
    """Any arguments. `mcp.arguments` checks them against the server's schema."""

    model_config = ConfigDict(extra="allow", frozen=True)


@lru_cache(maxsize=1024)
def mcp_tool(
    *, server: str, tool: str, description: str, schema: str, digest: str, danger: str, loop_exempt: bool = False
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
        compact_template=f"{server}__{tool}",
        loop_exempt=loop_exempt,
        own_schema=schema,
        group=server,
    )


async def call(server: str, tool: str, digest: str, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
    """Call the server's tool.

    Raises: ToolError, also if the tool's digest is no longer the confirmed one.
    """
    target = await context.mcp_target(server)
    with pool.using(context.session, target) as connection:
        await _open(connection, server)
        if connection.digests.get(tool) != digest:
            raise ToolError(
                f"The tool {tool} of {server} has changed since an administrator confirmed it, so it was not called. "
                "Use another way, or say that it must be confirmed again."
            )
        answer = await connection.ask({"do": "call", "name": tool, "arguments": arguments}, context.report)
    return await asyncio.to_thread(result_of, answer["result"], context.workspace, context.page_bytes)


async def _open(connection: McpConnection, server: str) -> None:
    """Open the connection if it is closed, and read which tools the server offers now."""
    if connection.is_open:
        return
    await connection.open()
    tools = tools_of(server, await connection.ask({"do": "list"}))
    connection.digests.clear()
    connection.digests.update({tool.name: tool.digest for tool in tools})


def result_of(answer: Mapping[str, Any], workspace: Workspace, page_bytes: int) -> ToolResult:
    """Return the result. Data over one page is indented, so that each page ends after a value."""
    texts: list[str] = []
    images: list[str] = []
    for part in answer.get("content") or ():
        _add_part(part, texts, images, workspace)
    structured = answer.get("structuredContent")
    if not texts and not images and structured is not None:
        data = json.dumps(structured, ensure_ascii=False)
        fits = size(data) <= page_bytes
        texts.append(data if fits else json.dumps(structured, ensure_ascii=False, indent=1))
    return ToolResult(
        content="\n".join(texts), images=images, status="failed" if answer.get("isError") else "succeeded"
    )


def _add_part(part: Mapping[str, Any], texts: list[str], images: list[str], workspace: Workspace) -> None:
    """Add a part of the server's answer to the texts and images. Files are stored in the workspace."""
    kind, resource = part.get("type"), part.get("resource") or {}
    if kind == "text":
        texts.append(str(part.get("text", "")))
    elif kind == "resource" and "text" in resource:
        texts.append(f"{resource.get('uri', '')}\n{resource['text']}")
    elif kind == "resource_link":
        texts.append(f"{part.get('name', '')}: {part.get('uri', '')}")
    elif data := part.get("data") or resource.get("blob"):
        media_type = str(part.get("mimeType") or resource.get("mimeType") or "")
        path = f"{RESULTS}/{secrets.token_hex(6)}{mimetypes.guess_extension(media_type) or '.bin'}"
        try:
            workspace.write_bytes(path, base64.b64decode(str(data), validate=True))
        except ValueError as error:
            raise ToolError("The server's answer contains a file that cannot be read.") from error
        texts.append(f"It is the file {path}.")
        if kind == "image":
            images.append(path)

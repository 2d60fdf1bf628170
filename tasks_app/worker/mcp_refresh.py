"""The tool lists of MCP servers, stored in rows.

New or changed tools are disabled until an administrator confirms them.
"""

import asyncio
import logging
import threading
from datetime import timedelta
from functools import partial

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from llm_app import active_secrets
from tasks_app.engine.capabilities.mcp_targets import target_of
from tasks_app.runtime import event_loop
from tools_app.errors import ToolError
from tools_app.mcp import Listing, McpConnection
from tools_app.models import McpServer, McpTool

logger = logging.getLogger(__name__)
EVERY = timedelta(minutes=10)


def refresh_due() -> None:
    """List the tools of servers that are due, each in its own thread, so that a server that hangs delays no other."""
    due = Q(listed_at=None) | Q(listed_at__lt=timezone.now() - EVERY)
    for server in McpServer.objects.filter(due, enabled=True):
        claimed = McpServer.objects.filter(pk=server.pk, listed_at=server.listed_at).update(listed_at=timezone.now())
        if claimed:
            threading.Thread(target=partial(_refresh_in_thread, server), name=f"mcp-{server}", daemon=True).start()


def _refresh_in_thread(server: McpServer) -> None:
    try:
        refresh(server)
    finally:
        connection.close()


def refresh(server: McpServer) -> str:
    """List a server's tools with the team's credential, never a person's. Return the error, or ''."""
    is_first = not server.tools.exists()
    of_team = active_secrets.for_users([])
    credential = of_team.of_team.get(server.credential, "")
    try:
        listing = event_loop.submit(_listed(server, credential)).result(server.timeout_s * 2 + 10)
    except ToolError as error:
        fault = of_team.redactor.redacted(str(error))[:1000]
        McpServer.objects.filter(pk=server.pk).update(listed_at=timezone.now(), fault=fault)
        logger.warning("could not list the tools of %s: %s", server, fault)
        return fault
    with transaction.atomic():
        _store_tools(server, listing, confirmed=is_first)
        McpServer.objects.filter(pk=server.pk).update(listed_at=timezone.now(), fault="", skipped=listing.skipped)
    return ""


async def _listed(server: McpServer, credential: str) -> Listing:
    connection = McpConnection(target_of(server, credential))
    try:
        return await connection.open()
    finally:
        await asyncio.shield(connection.close())


def _store_tools(server: McpServer, listing: Listing, *, confirmed: bool) -> None:
    """Store the listed tools. Those of a server's first list are confirmed; later ones wait for confirmation."""
    for tool in listing.tools:
        row = server.tools.filter(name=tool.name).first() or McpTool(server=server, name=tool.name)
        row.description, row.schema, row.digest, row.is_gone = tool.description, tool.schema, tool.digest, False
        row.own_name = tool.own_name if tool.own_name != tool.name else ""
        row.is_read_only, row.is_destructive = tool.is_read_only, tool.is_destructive
        row.confirmed = tool.digest if confirmed else row.confirmed
        row.save()
    server.tools.exclude(name__in=[tool.name for tool in listing.tools]).update(is_gone=True)

"""The MCP servers: those whose tools could not be listed, and those with tools that wait for a confirmation."""

from collections.abc import Iterator

from django.db.models import F

from agentsite.checks.messages import Finding, broken, note
from tools_app.models import McpServer, McpTool


def unusual() -> Iterator[Finding]:
    """As they were found at the last listing; none is asked now."""
    for server in McpServer.objects.filter(enabled=True).exclude(fault=""):
        yield broken(f"MCP server {server}", server.fault, "Mend it, or switch it off in the admin; it is tried again.")
    held = McpTool.objects.filter(server__enabled=True, is_gone=False).exclude(confirmed=F("digest"))
    for name in held.order_by("server__name").values_list("server__name", flat=True).distinct():
        yield note(
            f"MCP server {name}", "Some of its tools are new or changed, and held.", "Confirm them in the admin."
        )

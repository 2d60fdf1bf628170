from collections.abc import Iterator, Sequence

from django.contrib.auth.models import Group

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from tools_app.models import McpServer


def apply(servers: Sequence[schema.McpServer]) -> Iterator[str]:
    """A worker lists the tools of a server that is new or changed within seconds."""
    for item in servers:
        row = McpServer.objects.filter(name=item.name).first() or McpServer(name=item.name)
        changes = list(put(row, item.given("name", "roles"), f"MCP server {item.name}"))
        if changes:
            McpServer.objects.filter(pk=row.pk).update(listed_at=None)
        yield from changes
        wanted = set(Group.objects.filter(name__in=item.roles))
        if "roles" in item.model_fields_set and wanted != set(row.roles.all()):
            row.roles.set(wanted)
            yield f"MCP server {item.name}: roles changed"

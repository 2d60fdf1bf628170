"""The addresses of MCP servers, and the credentials with which a task can use them."""

from tasks_app.models import Task
from tasks_app.record import SessionSecrets
from tasks_app.runtime import process
from tools_app.contract import McpEndpoint
from tools_app.errors import ToolError
from tools_app.models import McpServer, McpTransport


class McpTargets:
    """The implementation of `capabilities.McpTarget` and `RelistMcpTools` for one task."""

    def __init__(self, task: Task, secrets: SessionSecrets) -> None:
        self._task, self._secrets = task, secrets

    async def target(self, server: str) -> McpEndpoint:
        return await process.in_thread(lambda _: self._target(server))

    async def relist(self, server: str) -> None:
        """Mark the server's list of tools as due. A worker reads it within seconds."""
        await process.in_thread(lambda _: McpServer.objects.filter(name=server).update(listed_at=None))

    def _target(self, name: str) -> McpEndpoint:
        server = McpServer.objects.filter(name=name, enabled=True).first()
        if server is None:
            raise ToolError(f"There is no MCP server called {name!r} any more.")
        credential = ""
        if server.credential:
            # An administrator chose the team's secret for the server, so everyone who has its tools can use it.
            usable = self._secrets.active.of_team | self._secrets.usable_in(self._task)
            credential = usable.get(server.credential, "")
        if server.credential and not credential:
            raise ToolError(
                f"{name} needs the secret {server.credential}, and there is none for this task. Ask the person to save "
                "it in their settings, under Secrets, and to use it in a session that nobody else writes in."
            )
        return target_of(server, credential)


def target_of(server: McpServer, credential: str = "") -> McpEndpoint:
    """Return the server's address. `credential` is the value that goes with each call, '' if the server needs none."""
    on_stdio = server.transport == McpTransport.STDIO
    variables = {server.credential: credential} if credential and on_stdio else {}
    headers = {"Authorization": f"Bearer {credential}"} if credential and not on_stdio else {}
    return McpEndpoint(
        name=server.name,
        transport="stdio" if on_stdio else "streamable_http",
        command=tuple(server.command),
        environment=server.environment | variables,
        url=server.url,
        headers=server.headers | headers,
        timeout_s=server.timeout_s,
    )

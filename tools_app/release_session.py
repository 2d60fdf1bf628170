"""Release of the resources that this process holds for a deleted session."""

from tools_app import held_resources
from tools_app.mcp.pool import pool
from tools_app.sandbox.session_sandboxes import sandboxes
from tools_app.shell.background_jobs import jobs
from tools_app.shell.python_process import pythons


def held_sessions() -> set[str]:
    """Return the sessions for which this process holds resources. Thread-safe."""
    return held_resources.sessions() | pool.sessions() | sandboxes.sessions()


def movable_sessions() -> set[str]:
    """Return the sessions with nothing but an idle sandbox, which other processes can take over."""
    return sandboxes.idle_sessions() - held_resources.sessions()


async def release_session(session: str) -> None:
    """End a session's background commands, Python, sandbox, MCP connections and page. Call it on the event loop."""
    await jobs.end(session)
    await pythons.end(session)
    await sandboxes.end(session)
    await pool.close(session)
    if held_resources.PAGE in held_resources.resources_of(session):
        from tools_app.browser.pages import pages  # heavy, but loaded already

        await pages.close(session)

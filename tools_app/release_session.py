"""Ends what this process keeps for a session that is deleted."""

from tools_app import held_resources
from tools_app.mcp.pool import pool
from tools_app.sandbox.session_sandboxes import sandboxes
from tools_app.shell.background_jobs import jobs


def held_sessions() -> set[str]:
    """Those that this process keeps something for. Any thread may ask."""
    return held_resources.sessions() | pool.sessions() | sandboxes.sessions()


def untied_sessions() -> set[str]:
    """Those that this process keeps nothing for but a sandbox in which nothing runs: another process may have them."""
    return sandboxes.idle() - held_resources.sessions()


async def release_session(session: str) -> None:
    """On the event loop. Its background commands, its sandbox, its connections to MCP servers, its page."""
    await jobs.end(session)
    await sandboxes.end(session)
    await pool.close(session)
    if held_resources.PAGE in held_resources.held_for(session):
        from tools_app.browser.pages import pages  # heavy, and loaded by now

        await pages.close(session)

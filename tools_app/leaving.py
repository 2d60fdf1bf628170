"""Ends what this process keeps for a session, when there is no session any more."""

from tools_app import holding
from tools_app.background.jobs import jobs
from tools_app.mcp.pool import pool


async def leave(session: str) -> None:
    """On the event loop. Its background commands, its connections to MCP servers, its page."""
    await jobs.end(session)
    pool.close(session)
    if holding.PAGE in holding.of(session):
        from tools_app.browser.pages import pages  # heavy, and loaded by now

        await pages.close(session)

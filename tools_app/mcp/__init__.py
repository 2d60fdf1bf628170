"""Tools of MCP servers. A child process talks to each server: a faulty server can only break that child."""

from tools_app.mcp.arguments import fitted_arguments
from tools_app.mcp.connection import McpConnection
from tools_app.mcp.listing import ListedTool, Listing

__all__ = ["ListedTool", "Listing", "McpConnection", "fitted_arguments"]

"""Tools of MCP servers. A child process talks to each server: a faulty server can only break that child."""

from tools_app.mcp.arguments import fitted_arguments
from tools_app.mcp.connection import ListedTool, McpConnection, tools_of

__all__ = ["ListedTool", "McpConnection", "fitted_arguments", "tools_of"]

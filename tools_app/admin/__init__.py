"""The admin of what is decided about tools."""

from tools_app.admin import addresses, mcp, roles, tools

__all__ = ["addresses", "mcp", "roles", "tools"]

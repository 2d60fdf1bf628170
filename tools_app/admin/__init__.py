"""The admin of what is decided about tools."""

from tools_app.admin import addresses, mcp, policy, skills, tools

__all__ = ["addresses", "mcp", "policy", "skills", "tools"]

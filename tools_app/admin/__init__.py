"""The admin of what is decided about tools."""

from tools_app.admin import mcp, policy, skills

__all__ = ["addresses", "mcp", "policy", "skills", "tools"]

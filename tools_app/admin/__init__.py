"""Admin pages for tools."""

from tools_app.admin import mcp, policy, skills

__all__ = ["addresses", "mcp", "policy", "skills", "tools"]

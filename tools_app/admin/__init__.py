"""The admin of what is decided about tools."""

from tools_app.admin import addresses, roles, tools

__all__ = ["addresses", "roles", "tools"]

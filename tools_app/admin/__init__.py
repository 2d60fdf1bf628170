"""Admin pages for tools."""

from tools_app.admin import extensions, policy

__all__ = ["extensions", "policy"]

"""One file a tool. Importing it registers it."""

from tools_app.tools import fetch_url, file, match, message, plan, search, shell

__all__ = ["fetch_url", "file", "match", "message", "plan", "search", "shell"]

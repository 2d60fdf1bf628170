"""One file a tool. Importing it registers it."""

from tools_app.tools import browser, fetch_url, file, match, message, plan, recall, search, shell, step

__all__ = ["browser", "fetch_url", "file", "match", "message", "plan", "recall", "search", "shell", "step"]

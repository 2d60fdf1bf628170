"""A Chromium shared by all sessions of this process. Each session has its own isolated page."""

from tools_app.browser import program

__all__ = ["program"]

"""The judgement of shell commands, and background jobs."""

from tools_app.shell.restrictions import UNRESTRICTED, Restrictions
from tools_app.shell.terminal import render_terminal

__all__ = ["UNRESTRICTED", "Restrictions", "render_terminal"]

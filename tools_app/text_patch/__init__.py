"""Unified diffs as models write them: read leniently, applied exactly."""

from tools_app.text_patch.applying import apply, created
from tools_app.text_patch.reading import read

__all__ = ["apply", "created", "read"]

"""Diffs and patches of texts."""

from tools_app.editing import diff
from tools_app.editing.changes import overwrite_diff

__all__ = ["diff", "overwrite_diff"]

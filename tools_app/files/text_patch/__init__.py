"""Unified diffs as models write them: read leniently, applied exactly."""

from tools_app.editing.patch_reading import read
from tools_app.files.patch_applying import apply, created

__all__ = ["apply", "created", "read"]

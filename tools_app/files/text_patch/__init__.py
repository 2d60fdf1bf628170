"""Unified diffs as models write them: read leniently, applied exactly."""

from tools_app.files.patch_applying import apply, created
from tools_app.files.patch_reading import read

__all__ = ["apply", "created", "read"]

"""Workspace files: safe access, listings, pages of text, history and quota."""

from tools_app.files import clipped, paths, safe_open, workspace_copy
from tools_app.files.encoding import convertible_type, decode_text, detect_encoding, picture_type
from tools_app.files.history import FileHistory, HistoryBounds, HistoryState
from tools_app.files.listing import FolderEntry, in_units
from tools_app.files.names import UNWRITABLE, as_text, folded, to_stored
from tools_app.files.owner import Owner, workspace_owner
from tools_app.files.paths import RESULTS, parts
from tools_app.files.quota import bytes_held
from tools_app.files.snapshot import GENERATED, IGNORED, Difference, FileState, Snapshot, differences
from tools_app.files.workspace import MAX_WHOLE, Workspace
from tools_app.files.workspace_copy import remove_tree

__all__ = [
    "GENERATED",
    "IGNORED",
    "MAX_WHOLE",
    "RESULTS",
    "UNWRITABLE",
    "Difference",
    "FileHistory",
    "FileState",
    "FolderEntry",
    "HistoryBounds",
    "HistoryState",
    "Owner",
    "Snapshot",
    "Workspace",
    "as_text",
    "bytes_held",
    "clipped",
    "convertible_type",
    "decode_text",
    "detect_encoding",
    "differences",
    "folded",
    "in_units",
    "parts",
    "paths",
    "picture_type",
    "remove_tree",
    "safe_open",
    "to_stored",
    "workspace_copy",
    "workspace_owner",
]

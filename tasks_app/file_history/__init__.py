"""The history of a session's files: what each call changed, and how to have it back."""

from tasks_app.file_history.look import history_of, look_first, record, record_before, record_call, so_far
from tasks_app.file_history.undo import Undone, diff_of, fork_files, undo

__all__ = [
    "Undone",
    "diff_of",
    "fork_files",
    "history_of",
    "look_first",
    "record",
    "record_before",
    "record_call",
    "so_far",
    "undo",
]

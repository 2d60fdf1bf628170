"""A session's record: appending, hash chain and redaction, and reading it for requests and pages."""

from tasks_app.record.append import append_entries, lock, storable
from tasks_app.record.cut import Cut, RequestMessages
from tasks_app.record.draft import Draft, notice, reminder
from tasks_app.record.entry_json import call_json
from tasks_app.record.images import PictureError, StoredPicture
from tasks_app.record.serialize import message_of, thinking_of
from tasks_app.record.session_secrets import SessionSecrets, redact_entries, redact_entry, redactor_of
from tasks_app.record.turns import Turn

__all__ = [
    "Cut",
    "Draft",
    "PictureError",
    "RequestMessages",
    "SessionSecrets",
    "StoredPicture",
    "Turn",
    "append_entries",
    "call_json",
    "lock",
    "message_of",
    "notice",
    "redact_entries",
    "redact_entry",
    "redactor_of",
    "reminder",
    "storable",
    "thinking_of",
]

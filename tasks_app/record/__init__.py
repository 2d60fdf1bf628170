"""?"""

from tasks_app.record.append import lock
from tasks_app.record.cut import Cut
from tasks_app.record.draft import Draft, notice, reminder
from tasks_app.record.images import KeptPicture
from tasks_app.record.redacted import redact_entries, redact_entry
from tasks_app.record.session_secrets import redactor_of
from tasks_app.record.turns import Turn

__all__ = [
    "Cut",
    "Draft",
    "KeptPicture",
    "Turn",
    "lock",
    "notice",
    "redact_entries",
    "redact_entry",
    "redactor_of",
    "reminder",
]

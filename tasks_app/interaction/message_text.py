"""What a person may write."""

from collections.abc import Sequence

from tasks_app.errors import InvalidMessage, MessageTooLong
from tasks_app.models import Session
from tasks_app.record.append import storable
from tasks_app.record.session_secrets import redactor_of

LONGEST = 1024 * 1024  # bytes


def checked(session: Session, content: str, attachments: Sequence[str]) -> str:
    """The words, as they can be stored: without a secret. Raises InvalidMessage or MessageTooLong."""
    content = storable(content)
    if len(content.encode()) > LONGEST:
        raise MessageTooLong()
    if not content.strip() and not attachments:
        raise InvalidMessage(field="content")
    return redactor_of(session).redacted(content)

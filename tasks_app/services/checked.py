"""Validation and redaction of input before it is stored."""

import json
from collections.abc import Sequence
from typing import Any

from tasks_app.models import Session
from tasks_app.models.errors import InvalidMessage, MessageTooLong
from tasks_app.record import redactor_of, storable
from tasks_app.record.append import storable_json
from tools_app.errors import InvalidSchema
from tools_app.json_schema import external

LONGEST_MESSAGE = 1024 * 1024  # bytes


def checked_text(session: Session, content: str, attachments: Sequence[str]) -> str:
    """Return a message's text in storable form, redacted. Raises InvalidMessage or MessageTooLong."""
    content = storable(content)
    if len(content.encode()) > LONGEST_MESSAGE:
        raise MessageTooLong()
    if not content.strip() and not attachments:
        raise InvalidMessage(field="content")
    return redactor_of(session).redacted(content)


def schema_text(schema: Any, session: Session) -> str:
    """Return the JSON Schema of a result's data as redacted text, or "" without one. Raises InvalidMessage."""
    if schema is None:
        return ""
    try:
        read = storable_json(json.loads(external.schema_text(schema)))
    except InvalidSchema as error:
        raise InvalidMessage(storable(str(error)), field="output_schema") from error
    return json.dumps(redactor_of(session).redacted_json(read), ensure_ascii=False)

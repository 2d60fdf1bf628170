"""The JSON Schema that a message may ask the data of its result to fit."""

import json
from typing import Any

from tasks_app.errors import InvalidMessage
from tasks_app.models import Session
from tasks_app.record.append import storable, storable_json
from tasks_app.record.session_secrets import redactor_of
from tools_app.errors import InvalidSchema
from tools_app.json_schema import reading


def text_of(schema: Any, session: Session) -> str:
    """As a task keeps it: JSON text, redacted; empty for None. Raises InvalidMessage."""
    if schema is None:
        return ""
    try:
        read = storable_json(json.loads(reading.read(schema)))
    except InvalidSchema as error:
        raise InvalidMessage(storable(str(error)), field="output_schema") from error
    return json.dumps(redactor_of(session).redacted_json(read), ensure_ascii=False)

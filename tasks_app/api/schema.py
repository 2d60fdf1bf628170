"""What the OpenAPI description says beyond what the views say of themselves."""

from typing import Any

from tasks_app.api.problems import CONTENT_TYPE

PROBLEM = {
    "type": "object",
    "description": "RFC 9457. `errors` says by field what is wrong.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {"type": "object", "additionalProperties": {}},
    },
    "required": ["type", "title", "status", "detail"],
}
ANSWER = {
    "description": "A problem",
    "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


def with_problems(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: every operation may answer with a problem."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"]["default"] = ANSWER
    return result

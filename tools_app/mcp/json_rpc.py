"""JSON-RPC messages of servers, corrected where their meaning is clear. The SDK refuses most deviations.

A message that cannot be corrected is left out, so that it costs only itself.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

_INTERNAL_ERROR = -32603


def corrected_messages(value: Any, request_id: Any = None) -> Iterator[dict[str, Any]]:
    """Yield the messages in a decoded JSON value. `request_id` is the request that the value answers, if it is known.

    A list is a batch of the protocol revision 2025-03-26. Servers omit `jsonrpc`, answer with another id or with null
    (github.com/modelcontextprotocol/python-sdk/issues/1676), with a text as the result, or with a text as the error.
    """
    for message in value if isinstance(value, list) else [value]:
        if isinstance(message, dict) and (corrected := _corrected(message, request_id)):
            yield corrected


def _corrected(message: Mapping[str, Any], request_id: Any) -> dict[str, Any] | None:
    if isinstance(message.get("method"), str):
        out = {**message, "jsonrpc": "2.0"}
        if not isinstance(out.get("params", {}), dict):
            del out["params"]
        if "id" in out and (not isinstance(out["id"], int | str) or isinstance(out["id"], bool)):
            return None
        return out
    message_id = message.get("id") if request_id is None else request_id
    if isinstance(message_id, float) and message_id.is_integer():
        message_id = int(message_id)
    if not isinstance(message_id, int | str) or isinstance(message_id, bool):
        return None
    if message.get("error") is not None:
        return {"jsonrpc": "2.0", "id": message_id, "error": _error(message["error"])}
    if "result" not in message:
        return None
    result = message["result"]
    if not isinstance(result, dict):
        result = {"content": [{"type": "text", "text": result if isinstance(result, str) else json.dumps(result)}]}
    return {"jsonrpc": "2.0", "id": message_id, "result": result}


def _error(error: Any) -> dict[str, Any]:
    if not isinstance(error, dict):
        return {"code": _INTERNAL_ERROR, "message": str(error)}
    code, text = error.get("code"), error.get("message")
    return {
        **error,
        "code": code if isinstance(code, int) else _INTERNAL_ERROR,
        "message": text if isinstance(text, str) else json.dumps(error),
    }

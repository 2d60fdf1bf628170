"""The same tools on stdio without the SDK, which takes a second to load: for tests that start many servers.

How servers made with the SDK are spoken to is tested with notes.py.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

NOTHING = {"type": "object", "properties": {}}
ECHO = {  # as the SDKs of other languages write schemas
    "type": "object",
    "properties": {
        "value": True,
        "count": {"type": ["integer", "null"]},
        "choice": {"anyOf": [{"$ref": "#/$defs/choices"}, {"$ref": "#/properties/choice/anyOf/2"}, {"const": 0}]},
    },
    "$defs": {"choices": {"enum": ["a", "b"]}},
    "additionalProperties": False,
}
_kept: list[str] = []
_token: list[Any] = []


def _schema(**types: str) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": list(types)}


def _keep(text: str) -> str:
    _kept.append(text)
    return f"{len(_kept)} notes"


def _tell(message: str) -> None:
    """Progress of the call that runs."""
    params = {"progressToken": _token[0], "progress": 1, "message": message}
    print(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}), flush=True)


TOOLS: dict[str, tuple[dict[str, Any], Callable[..., Any]]] = {
    "add": (_schema(a="integer", b="integer"), lambda a, b: a + b),
    "keep": (_schema(text="string"), _keep),
    "fail": (NOTHING, lambda: 1 / 0),
    "hang": (NOTHING, lambda: time.sleep(3600)),
    "work": (NOTHING, lambda: (_tell("read 3 of 9 files"), time.sleep(3600))),
    "die": (NOTHING, lambda: os._exit(3)),
    "flood": (NOTHING, lambda: "x" * 4_000_000),
    "many": (_schema(count="integer"), lambda count: "\n".join(f"note {number}" for number in range(count))),
    "environment": (NOTHING, lambda: " ".join(sorted(os.environ))),
    "measure": (_schema(text="string"), lambda text: f"{len(text)}"),
    "echo": (ECHO, lambda **given: json.dumps(dict.fromkeys(ECHO["properties"]) | given)),
    "pid": (NOTHING, os.getpid),
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; nothing for a method that this server does not know."""
    match method:
        case "initialize":  # https://modelcontextprotocol.io/specification/2025-06-18/basic/lifecycle
            about = {"name": "bare", "version": "1"}
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": schema} for name, (schema, _) in TOOLS.items()]}
        case "tools/call":
            _token[:] = [(params.get("_meta") or {}).get("progressToken")]
            return _called(params["name"], params.get("arguments") or {})
    return None


def _called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        text, failed = str(TOOLS[name][1](**arguments)), False
    except Exception:
        text, failed = f"Error executing tool {name}", True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue  # a notification
        result = answer(request["method"], request.get("params") or {})
        said = {"error": {"code": -32601, "message": "Method not found"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}), flush=True)

"""A server of the SDK's own, with good tools and bad ones. `stdio`, or a port to serve HTTP on."""

import json
import os
import sys
import time
from typing import Any

from mcp.server.mcpserver import Image, MCPServer

server = MCPServer("notes")
kept: list[str] = []


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def keep(text: str) -> str:
    """Keeps a note and says how many there are."""
    kept.append(text)
    return f"{len(kept)} notes"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("no such note")


@server.tool()
def hang() -> str:
    """Never answers."""
    time.sleep(3600)
    return ""


@server.tool()
def die() -> str:
    """Ends the server."""
    os._exit(3)


@server.tool()
def flood() -> str:
    """Answers with four megabytes."""
    return "x" * 4_000_000


@server.tool()
def environment() -> str:
    """Names what it was started with."""
    return " ".join(sorted(os.environ))


@server.tool()
def measure(text: str) -> int:
    """How long a text is."""
    return len(text)


@server.tool()
def echo(value: Any = None, count: Any = None, choice: Any = None) -> str:
    """Return the arguments as JSON."""
    return json.dumps({"value": value, "count": count, "choice": choice})


# As the SDKs of other languages write schemas.
server._tool_manager.get_tool("echo").parameters = {
    "type": "object",
    "properties": {
        "value": True,
        "count": {"type": ["integer", "null"]},
        "choice": {"anyOf": [{"$ref": "#/$defs/choices"}, {"$ref": "#/properties/choice/anyOf/2"}, {"const": 0}]},
    },
    "$defs": {"choices": {"enum": ["a", "b"]}},
    "additionalProperties": False,
}


@server.tool()
def pid() -> int:
    """Its process."""
    return os.getpid()


@server.tool()
def picture() -> Image:
    """A red dot."""
    from io import BytesIO

    from PIL import Image as Pillow

    out = BytesIO()
    Pillow.new("RGB", (4, 4), "red").save(out, "PNG")
    return Image(data=out.getvalue(), format="png")


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run(transport="stdio")
    else:
        server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))

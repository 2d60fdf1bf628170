"""What is needed to reach an MCP server."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

STDIO, HTTP = "stdio", "streamable_http"


@dataclass(frozen=True, kw_only=True)
class Target:
    """A program that is started (`command`, with `environment` and nothing else of the server's), or an address.

    `headers` go with every request to the address. `timeout_s` bounds one call, the start included.
    """

    name: str
    transport: Literal["stdio", "streamable_http"]
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 60

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

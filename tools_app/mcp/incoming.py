"""The messages of a server on their way to the SDK. Results are set aside as they came: the SDK refuses odd ones.

The SDK receives a plain result in their place, so one odd tool or one odd result costs nothing else.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from tools_app.mcp.json_rpc import corrected_messages

# Members that the revision 2026-07-28 requires in each result, and that servers forget.
_REQUIRED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_LIST_CHANGED = "notifications/tools/list_changed"


class Incoming:
    """The state of one connection: results as the server sent them, and whether it has ended.

    `has_new_tools` becomes true when the server announces that its list of tools has changed.
    """

    def __init__(self) -> None:
        self.has_ended = False
        self.has_new_tools = False
        self.tools: Any = None
        self.result: dict[str, Any] = {}
        self._methods: dict[Any, str] = {}

    @asynccontextmanager
    async def observe(
        self, transport: AbstractAsyncContextManager[TransportStreams]
    ) -> AsyncIterator[TransportStreams]:
        """Connect the transport, with its messages passing through."""
        async with transport as (read, write):
            yield _Reader(read, self), _Writer(write, self)

    def note_request(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._methods[message.id] = message.method

    def replaced(self, message: JSONRPCMessage) -> JSONRPCMessage:
        """Return the message that the SDK receives instead."""
        if getattr(message, "method", "") == _LIST_CHANGED:
            self.has_new_tools = True
        if not isinstance(message, JSONRPCResponse):
            return message
        method = self._methods.pop(message.id, None) or self._methods.pop(_as_number(message.id), "")
        result = message.result
        if method == "initialize":
            # Libraries of PHP encode empty objects as lists, so capabilities are not read.
            server = {"name": "server", "version": "0"}
            version = result.get("protocolVersion")
            result = {"protocolVersion": version, "capabilities": {}, "serverInfo": server}
        elif method == "tools/list":
            self.tools = result.get("tools")
            cursor = result.get("nextCursor")
            result = _REQUIRED | {"tools": plain_tools(self.tools), "nextCursor": cursor if cursor else None}
        elif method == "tools/call" and result.get("resultType") != "input_required":
            self.result = result
            result = _REQUIRED | {"content": [], "isError": True}  # errors are not checked against the output schema
        return message.model_copy(update={"result": result})


def _as_number(message_id: Any) -> Any:
    return int(message_id) if isinstance(message_id, str) and message_id.isdecimal() else message_id


def name_of(tool: Any) -> str:
    """Return the name of a listed tool, '' if it has none."""
    name = tool.get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) else ""


def plain_tools(tools: Any) -> list[dict[str, Any]]:
    """Return what the SDK needs: names, and schemas with the arguments that it repeats as HTTP headers."""
    return [
        {"name": tool["name"], "inputSchema": tool["inputSchema"]}
        for tool in (tools if isinstance(tools, list) else ())
        if name_of(tool) and _is_plain(tool.get("inputSchema"))
    ]


def _is_plain(schema: Any) -> bool:
    return (
        isinstance(schema, dict) and schema.get("type") == "object" and isinstance(schema.get("properties", {}), dict)
    )


class _Reader:
    """The stream of messages from the server."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], incoming: Incoming) -> None:
        self._stream, self._incoming = stream, incoming
        self._corrected: list[SessionMessage] = []

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        if self._corrected:
            return self._replaced(self._corrected.pop(0))
        try:
            item = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._incoming.has_ended = True
            raise
        if isinstance(item, ValidationError):
            self._corrected = [
                SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False))
                for message in corrected_messages(_refused_value(item))
            ]
            return self._replaced(self._corrected.pop(0)) if self._corrected else item
        return item if isinstance(item, Exception) else self._replaced(item)

    def _replaced(self, item: SessionMessage) -> SessionMessage:
        return SessionMessage(self._incoming.replaced(item.message), item.metadata)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _refused_value(error: ValidationError) -> Any:
    """Return the decoded JSON value that the SDK refused, or None if the line was no JSON."""
    inputs = (fault["input"] for fault in error.errors() if fault["type"] in ("missing", "model_type"))
    return next((value for value in inputs if isinstance(value, dict | list)), None)


class _Writer:
    """The stream of messages to the server."""

    def __init__(self, stream: WriteStream[SessionMessage], incoming: Incoming) -> None:
        self._stream, self._incoming = stream, incoming

    async def send(self, item: SessionMessage) -> None:
        self._incoming.note_request(item.message)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

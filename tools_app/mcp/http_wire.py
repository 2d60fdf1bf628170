"""The HTTP transport below the SDK: answers are corrected, and lost sessions and refused requests are noted.

The SDK reports most HTTP errors as "Server returned an error response", and refuses answers of an unexpected type.
"""

import asyncio
import codecs
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from tools_app.mcp.json_rpc import corrected_messages

MAX_BODY = 4 * 1000**2  # bytes of an answer that is not an event stream
_MAX_WORDS = 300  # characters of a server's error that the model reads
_SESSION_HEADER = "mcp-session-id"
_METHOD_NOT_FOUND, _INVALID_PARAMS, _INTERNAL_ERROR = -32601, -32602, -32603
_LAST_WAIT_S = 1.0  # seconds to deliver a last notification
_POLL_S = 0.01
# Words of servers that have forgotten a session. The specification requires a 404, but they also send
# - 400 "Bad Request: No valid session ID provided": github.com/anthropics/claude-code/issues/27425
# - 400 "No valid session ID or not an initialize request": github.com/DAWNCR0W/affine-mcp-server/issues/301
# - 400 "Invalid session ID": github.com/Kuadrant/mcp-gateway/issues/380
# - 400 "Bad Request: Server not initialized": github.com/mcp-use/mcp-use/issues/1133
# - 401 "Unauthorized: Session not found": github.com/modelcontextprotocol/rust-sdk/issues/559
# - 409 and 503: github.com/quazardous/nelson-mcp/issues/38, github.com/markmhendrickson/neotoma/issues/1923
# - 500 with the words of a server behind it: github.com/punkpeye/fastmcp/issues/121
_LOST_SESSION = re.compile(
    r"session.{0,60}(not found|not exist|expired|invalid|terminated|unknown|unrecogni[sz]ed|no longer|required|missing|"
    r"not initiali[sz]ed|closed)"
    r"|(no valid|no such|no active|not a valid|invalid|unknown|expired|missing|stale|unrecogni[sz]ed).{0,30}session"
    r"|server (is )?not initiali[sz]ed",
    re.IGNORECASE | re.DOTALL,
)
_LOST_STATUSES = (404, 410)
_UNKNOWN_EFFECT = "Whether a call had an effect is unknown."


class HttpWire(httpx2.AsyncBaseTransport):
    """The transport of one server's connection.

    `has_lost_session` becomes true when the server no longer knows the session. `was_rejected` tells whether it
    rejected that request before it processed it.
    """

    def __init__(self) -> None:
        self.has_lost_session = False
        self.was_rejected = False
        self._inner = httpx2.AsyncHTTPTransport()
        self._notifications = 0

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def settle(self) -> None:
        """Wait until the notifications on their way are delivered, for at most a second."""
        for _ in range(round(_LAST_WAIT_S / _POLL_S)):
            await asyncio.sleep(_POLL_S)
            if not self._notifications:
                return

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "DELETE" and self.has_lost_session:
            return httpx2.Response(204)  # there is no session to end
        if request.method != "POST":
            return await self._inner.handle_async_request(request)
        message = json.loads(request.content)
        if "id" not in message or "method" not in message:
            self._notifications += 1
            try:
                return await self._inner.handle_async_request(request)
            finally:
                self._notifications -= 1
        try:
            return await self._response(request, message["id"])
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            return _failure(message["id"], f"It cannot be reached: {error}")
        except httpx2.HTTPError as error:
            sentence = f"It broke off the connection ({type(error).__name__}). {_UNKNOWN_EFFECT}"
            return _failure(message["id"], sentence)

    async def _response(self, request: httpx2.Request, request_id: Any) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.status_code in (202, 204):
            await response.aclose()
            sentence = f"It accepted the request (HTTP {response.status_code}) and sent no result. {_UNKNOWN_EFFECT}"
            return _failure(request_id, sentence)
        if response.is_redirect:
            return response
        if response.status_code >= 400:
            return await self._error(request, response, request_id)
        return await self._answer(request, response, request_id)

    async def _error(self, request: httpx2.Request, response: httpx2.Response, request_id: Any) -> httpx2.Response:
        status, text = response.status_code, await _text_of(response)
        is_of_protocol = '"jsonrpc"' in text  # an "error" alone is also OAuth's, and of many frameworks
        errors = [item["error"] for item in _decoded(text, request_id) if "error" in item] if is_of_protocol else []
        error = errors[0] if errors else None
        if _SESSION_HEADER in request.headers:
            is_of_method = error is not None and error["code"] in (_METHOD_NOT_FOUND, _INVALID_PARAMS)
            self.has_lost_session = (status in _LOST_STATUSES and not is_of_method) or bool(_LOST_SESSION.search(text))
            self.was_rejected = self.has_lost_session and (status < 500 or status == 503)
        if error is None:
            code = _METHOD_NOT_FOUND if status == 404 else _INTERNAL_ERROR
            error = {"code": code, "message": _sentence(status, text)}
        elif status in (401, 403):
            error = {**error, "message": f"{_sentence(status, '')} {error['message']}"}
        return _json_response({"jsonrpc": "2.0", "id": request_id, "error": error}, response)

    async def _answer(self, request: httpx2.Request, response: httpx2.Response, request_id: Any) -> httpx2.Response:
        """Return the answer with corrected messages. Its beginning decides whether it is an event stream.

        Servers send JSON and events as text/plain, or without a type: github.com/helidon-io/helidon-mcp/issues/97,
        github.com/ballerina-platform/ballerina-library/issues/8090.
        """
        parts = response.aiter_bytes()
        start = b""
        async for part in parts:
            start += part
            if start.strip():
                break
        is_declared = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        if re.match(rb"\s*(event|data|id|retry)?:", start) or (
            is_declared and not start.lstrip().startswith((b"{", b"["))
        ):
            return httpx2.Response(
                response.status_code,
                headers=_headers(response, "text/event-stream"),
                stream=_EventStream(response, start, parts, request_id),
            )
        try:
            body = start
            async for part in parts:
                body += part
                if len(body) > MAX_BODY:
                    return _failure(request_id, f"Its answer has over {MAX_BODY} bytes.")
        finally:
            await response.aclose()
        text = body.decode(errors="replace")
        messages = list(_decoded(text, request_id))
        answer = next((item for item in messages if "method" not in item), None)
        if answer is None:
            words = f"It began: {_words(text)}" if text.strip() else "It was empty."
            return _failure(request_id, f"Its answer was no message of the protocol. {words}")
        if "error" in answer and _SESSION_HEADER in request.headers:
            self.has_lost_session = bool(_LOST_SESSION.search(str(answer["error"]["message"])))
        return _json_response(answer, response)


class _EventStream(httpx2.AsyncByteStream):
    """An event stream, of which each event with messages is forwarded in its corrected form, and no other.

    Servers send events of other names, comments and texts between them, and end without an empty line.
    """

    def __init__(self, response: httpx2.Response, start: bytes, parts: AsyncIterator[bytes], request_id: Any) -> None:
        self._response, self._start, self._parts, self._request_id = response, start, parts, request_id

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        pending, lines, ended = decoder.decode(self._start), list[str](), False
        while True:
            # A final "\r" may be the first half of a line's end.
            *complete, pending = re.split(r"\r\n|\n|\r(?!\Z)", pending)
            for line in [*complete, pending.rstrip("\r"), ""] if ended else complete:
                if line:
                    lines.append(line)
                elif lines:
                    yield self._event(lines)
                    lines = []
            if ended:
                return
            part = await anext(self._parts, None)
            ended = part is None
            pending += decoder.decode(part or b"", final=ended)

    def _event(self, lines: list[str]) -> bytes:
        fields: dict[str, list[str]] = {}
        for line in lines:
            name, _, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))
        kept = "".join(f"{name}: {fields[name][-1]}\n" for name in ("id", "retry") if name in fields)
        messages = [json.dumps(item) for item in _decoded("\n".join(fields.get("data", ())), self._request_id)]
        if not messages:
            return f"{kept}data:\n\n".encode() if kept else b": skipped\n\n"
        return (kept + "".join(f"data: {item}\n\n" for item in messages)).encode()

    async def aclose(self) -> None:
        await self._response.aclose()


def _decoded(text: str, request_id: Any) -> list[dict[str, Any]]:
    try:
        return list(corrected_messages(json.loads(text), request_id))
    except (ValueError, RecursionError):
        return []


async def _text_of(response: httpx2.Response) -> str:
    body = b""
    try:
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MAX_BODY:
                break
    except httpx2.HTTPError:
        pass  # the status counts, even if the body is cut
    finally:
        await response.aclose()
    return body.decode(errors="replace")


def _words(text: str) -> str:
    return " ".join(re.sub(r"<[^>]{0,500}>", " ", text).split())[:_MAX_WORDS]


def _sentence(status: int, text: str) -> str:
    words = f" It says: {_words(text)}" if _words(text) else ""
    if status == 401:
        return f"it does not accept the credential (HTTP 401). An administrator must renew it.{words}"
    if status == 403:
        return f"the credential does not permit this (HTTP 403).{words}"
    return f"it refused the request (HTTP {status}).{words}"


def _headers(response: httpx2.Response, media_type: str) -> dict[str, str]:
    session = response.headers.get(_SESSION_HEADER)
    return {"content-type": media_type, **({_SESSION_HEADER: session} if session else {})}


def _json_response(message: dict[str, Any], response: httpx2.Response) -> httpx2.Response:
    headers = _headers(response, "application/json")
    return httpx2.Response(response.status_code, headers=headers, content=json.dumps(message).encode())


def _failure(request_id: Any, text: str) -> httpx2.Response:
    error = {"code": _INTERNAL_ERROR, "message": text}
    return _json_response({"jsonrpc": "2.0", "id": request_id, "error": error}, httpx2.Response(200))

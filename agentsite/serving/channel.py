"""HTTP connections of Daphne, with limits in bytes and seconds that Twisted does not have.

A refusal is a response of `application/problem+json`. The limits end when the request is complete, and do not apply
to websockets: a response may take any time.
"""

import json
import logging
from http import HTTPStatus
from typing import Any

from daphne.http_protocol import HTTPFactory as DaphneFactory
from daphne.http_protocol import WebRequest
from twisted.internet import threads
from twisted.web import http

from agentsite.serving import limits
from tasks_app.api.problems import CONTENT_TYPE, Problem, size_limit_sentence

logger = logging.getLogger(__name__)
HEAD_SECONDS = 10.0  # for the headers, from the connection or from a later request's first byte
BODY_SECONDS, MIN_BYTES_PER_SECOND = 60.0, 64 * 1024  # for a body: so many seconds, and one more for so many bytes
SILENCE_SECONDS = 30.0  # within a body, or between two requests
LINGER_SECONDS = 10.0  # for reading the rest of a refused body: after a reset, the client would lose our response


class UnparsedRequest(WebRequest):
    """Daphne's request without its parser of forms, which stopped the event loop for 21 s with 200 MB."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args, parsePOSTFormSubmission=False)

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """Answer for an application that failed. If its response has begun, close the connection."""
        if self._response_started:
            self.transport.abortConnection()
            return
        headers = [(b"Content-Type", CONTENT_TYPE.encode())]
        self.handle_reply({"type": "http.response.start", "status": status, "headers": headers})
        self.handle_reply({"type": "http.response.body", "body": _problem(status, f"{body}.".replace("..", "."))})


class LimitedChannel(http.HTTPChannel):
    """A channel that reads requests one after the other, with a limit for each step."""

    maxHeaders = 100  # and 16 KiB, Twisted's limit

    def __init__(self) -> None:
        super().__init__()
        self._deadline: Any = None
        self._has_begun = False  # a part of the next request has arrived
        self._is_looking_up = False  # for the sender of the body
        self._owes_continue = False
        self._has_known_sender = False
        self._is_refused = False

    @property
    def is_expendable(self) -> bool:
        """Return whether the connection only waits for a request, and not for that of a known user."""
        return not (self._handlingRequest or self._has_known_sender)

    # --- deadlines --------------------------------------------------------------------------------------------------

    def connectionMade(self) -> None:
        super().connectionMade()
        self._set_deadline(HEAD_SECONDS)

    def timeoutConnection(self) -> None:
        """Handle a silence of `timeOut` seconds. Called by Twisted."""
        self._time_out()

    def connectionLost(self, reason: Any) -> None:
        self._set_deadline(None)
        super().connectionLost(reason)

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None and self._deadline.active():
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.callLater(seconds, self._time_out)

    def _time_out(self) -> None:
        if self._is_refused:
            self.transport.abortConnection()
        elif self._has_begun:
            self._refuse(408, "The request did not come in time.", lingers=False)
        else:
            super().timeoutConnection()

    # --- the request ------------------------------------------------------------------------------------------------

    def dataReceived(self, data: bytes) -> None:
        if self._is_refused:
            return
        if not self._has_begun and not self._handlingRequest:
            self._has_begun = True
            if self._deadline is None:  # a later request on the same connection
                self._set_deadline(HEAD_SECONDS)
        super().dataReceived(data)

    def lineReceived(self, line: bytes) -> bool:
        """Handle a line of the headers. Return True to stop reading the received data."""
        if self._receivedHeaderSize + len(line) > self.totalHeadersSize:
            self._refuse_head()
        else:
            super().lineReceived(line)
        return self._is_refused

    def lineLengthExceeded(self, line: bytes) -> bool:
        self._refuse_head()
        return True

    def headerReceived(self, line: bytes) -> bool:
        if self._receivedHeaderCount >= self.maxHeaders:
            self._refuse_head()
            return False
        return bool(super().headerReceived(line))

    def allHeadersReceived(self) -> None:
        limit = limits.max_body_bytes(self._path)
        if self.length is None:
            self._refuse(411, "Send the whole body with its Content-Length, not in chunks.")
        elif self.length > limit:
            self._refuse(413, size_limit_sentence(limit))
        else:
            self._set_deadline(BODY_SECONDS + self.length / MIN_BYTES_PER_SECOND)
            if self.length > limits.ANONYMOUS_BYTES:
                self._look_up_sender()
            super().allHeadersReceived()

    def allContentReceived(self) -> None:
        self._set_deadline(None)
        self._has_begun = self._has_known_sender = False
        super().allContentReceived()

    # --- the response -----------------------------------------------------------------------------------------------

    def pauseProducing(self) -> None:
        """Pause the application, as enough output waits for the client. Called by Twisted."""
        super().pauseProducing()
        self.transport.pause()

    def resumeProducing(self) -> None:
        """Resume the application, as no output waits for the client. Called by Twisted."""
        super().resumeProducing()
        self.transport.resume()

    # --- bodies beyond the anonymous limit --------------------------------------------------------------------------

    def _look_up_sender(self) -> None:
        """Look up the sender of a body, and read no more of it until then."""
        self._is_looking_up = True
        self.transport.pauseProducing()
        headers = self.requests[-1].requestHeaders
        values = ["; ".join(headers.getRawHeaders(name, [])) for name in ("Cookie", "Authorization")]
        threads.deferToThread(limits.belongs_to_a_user, *values).addCallbacks(
            self._sender_looked_up, self._lookup_failed
        )

    def _sender_looked_up(self, is_user: bool) -> None:
        self._is_looking_up, self._has_known_sender = False, is_user
        if not is_user and not self._handlingRequest:
            limit = f"{limits.ANONYMOUS_BYTES // 1024} KiB"
            self._refuse(413, f"At most {limit} while you are not signed in. Sign in, or send a valid token.")
        elif self._owes_continue:
            super()._send100Continue()
        self._owes_continue = False
        self.transport.resumeProducing()

    def _lookup_failed(self, failure: Any) -> None:
        logger.warning("rejected a request body: could not check the credentials: %s", failure.getErrorMessage())
        self._refuse(503, "The database is busy. Try again in a few seconds.")
        self.transport.resumeProducing()

    def _send100Continue(self) -> None:
        if self._is_looking_up:
            self._owes_continue = True
        else:
            super()._send100Continue()

    # --- refusals ---------------------------------------------------------------------------------------------------

    def _refuse_head(self) -> None:
        if hasattr(self, "_path"):  # the first line was read
            self._refuse(431, "The headers of the request are too large.")
        else:
            self._refuse(414, "The address of the request is too long.")

    def _respondToBadRequestAndDisconnect(self) -> None:
        self._refuse(400, "The request cannot be read.")

    def _refuse(self, status: int, detail: str, *, lingers: bool = True) -> None:
        if self._is_refused:
            return
        self._is_refused = True
        logger.info("refused a request from %s: %s", self.getPeer(), detail)
        self.transport.write(_response(status, detail))
        self._set_deadline(LINGER_SECONDS)
        if lingers:
            self.transport.loseWriteConnection()
        else:
            self.loseConnection()


class HTTPFactory(DaphneFactory):
    """A factory of such channels and requests."""

    protocol = LimitedChannel

    def buildProtocol(self, address: Any) -> Any:
        channel = super().buildProtocol(address)
        channel.requestFactory = UnparsedRequest
        channel.timeOut = SILENCE_SECONDS
        return channel


def _problem(status: int, detail: str) -> bytes:
    return json.dumps(Problem(status=status, detail=detail).body).encode()


def _response(status: int, detail: str) -> bytes:
    body = _problem(status, detail)
    lines = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"Content-Type: {CONTENT_TYPE}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *(["Retry-After: 5"] if status == 503 else []),
    )
    return "\r\n".join([*lines, "", ""]).encode() + body

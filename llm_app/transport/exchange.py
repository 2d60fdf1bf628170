"""One HTTP request and its response, over a pooled connection."""

from collections.abc import Iterator, Mapping
from types import TracebackType

from llm_app import errors
from llm_app.transport.address import Address, address_of
from llm_app.transport.answer import Answer
from llm_app.transport.opening import opened
from llm_app.transport.pool import Pool
from llm_app.transport.waiting import Patience

_pool = Pool()


class Exchange:
    """A request that is sent on entering the context; then the response's head has arrived.

    An error or an interruption closes the connection immediately. After a normal exit the connection returns to the
    pool.

    Raises: LLMError, OSError, ValueError for an invalid header, and the exception that interrupts a wait.
    """

    def __init__(self, method: str, url: str, headers: Mapping[str, str], body: bytes, patience: Patience) -> None:
        self._address = address_of(url)
        self._is_retried = method == "POST"  # callers retry a POST whose pooled connection was just closed
        self._request = _head(method, self._address, headers, len(body)) + body
        self._patience = patience
        self._pieces: list[bytes] = []

    def __enter__(self) -> "Exchange":
        self._connection = (self._is_retried and _pool.take(self._address)) or opened(self._address, self._patience)
        self._connection.patience = self._patience
        self.answer = Answer()
        try:
            self._send()
            while not self.answer.has_head:
                self._pieces += self.answer.feed(self._connection.receive())
        except BaseException:
            self._connection.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None or issubclass(kind, errors.LLMError | GeneratorExit):
            _pool.give(self._address, self._connection, self.answer)
        else:
            self._connection.close()

    def body(self) -> Iterator[bytes]:
        """Yield chunks of the body as they arrive.

        Raises: StreamCut if the connection ends too early.
        """
        while True:
            if self._pieces:
                yield b"".join(self._pieces)
            if self.answer.is_over:
                return
            self._pieces = self.answer.feed(self._connection.receive())

    def _send(self) -> None:
        """Send the request. A server that rejects a long request may answer and close before it has read all of it."""
        try:
            self._connection.send(self._request)
        except (BrokenPipeError, ConnectionResetError):
            self._pieces += self.answer.feed(self._connection.received() or b"")


def close() -> None:
    """Close all idle connections."""
    _pool.close()


def _head(method: str, address: Address, headers: Mapping[str, str], length: int) -> bytes:
    """Return the request line and the headers.

    Raises: ValueError for a header with a line break.
    """
    proxy = address.proxy if not address.is_tunnelled else None
    target = f"http://{address.authority}{address.path}" if proxy else address.path
    given = {name.lower() for name in headers}
    lines = [f"{name}: {value}" for name, value in headers.items() if name.lower() not in _OF_THE_BODY]
    lines += [] if "authorization" in given else address.authorization("Authorization")
    if proxy:
        lines += proxy.authorization("Proxy-Authorization")
    ours = {"Host": address.authority, **_OURS}
    lines += [f"{name}: {value}" for name, value in ours.items() if name.lower() not in given]
    if method == "POST":
        lines.append(f"Content-Length: {length}")
    if any(sign in line for line in lines for sign in "\r\n\0"):
        raise ValueError("a header has a line break")
    return "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""]).encode()


_OURS = {"Accept": "*/*", "Accept-Encoding": "gzip", "User-Agent": "agentsite"}
_OF_THE_BODY = ("content-length", "transfer-encoding")

"""A small web site on loopback for browser tests. `asked` lists the requested paths."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site:
    """A web site. `pages` are HTML bodies by path, `raw` other bodies, and `headers` extra headers by path.

    /slow answers only when the site closes.
    """

    def __init__(self, pages: Mapping[str, str]) -> None:
        self.pages = dict(pages)
        self.raw: dict[str, bytes] = {}
        self.headers: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []
        self.slow_is_asked = threading.Event()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}{path}"

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                path = self.path.partition("?")[0]
                if path == "/slow":
                    site.slow_is_asked.set()
                    site._closing.wait(60)
                headers = {"Content-Type": "text/html; charset=utf-8"} | site.headers.get(path, {})
                self.send_response(302 if "Location" in headers else 200 if path in site.pages else 404)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                with suppress(ConnectionError):  # nobody waits for /slow
                    self.wfile.write(site.raw.get(path) or site.pages.get(path, "").encode())

            def log_message(self, *args: object) -> None:
                pass

        return Handler


@contextmanager
def serving(pages: Mapping[str, str]) -> Iterator[Site]:
    site = Site(pages)
    try:
        yield site
    finally:
        site.close()

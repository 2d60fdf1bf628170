"""A PostgreSQL that accepts connections and never answers, as if it is suspended or behind a faulty firewall."""

import itertools
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from asgiref.testing import ApplicationCommunicator
from django.db import connection
from django.http import HttpRequest, HttpResponse

from agentsite.asgi import MAX_THREADS, Handler
from agentsite.postgresql import base as postgresql


def test_connection_check_does_not_block_other_threads() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging, ThreadPoolExecutor(1) as threads:
        where = {"host": "127.0.0.1", "port": hanging.getsockname()[1], "dbname": "any", "user": "any"}
        moments = [time.monotonic()]
        asked = threads.submit(postgresql._server_answers, where)
        while not asked.done():
            time.sleep(0.01)
            moments.append(time.monotonic())
        moments.append(time.monotonic())
    assert not asked.result()
    assert max(after - before for before, after in itertools.pairwise(moments)) < 1


async def test_server_is_alive_while_all_request_threads_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    handler, answers = Handler(), threading.Event()

    def wait(request: HttpRequest) -> HttpResponse:
        answers.wait(60)
        connection.close()
        return HttpResponse()

    monkeypatch.setattr(handler._sync_handler, "_middleware_chain", wait)
    waiting = [await _asked(handler, "/accounts/login/") for _ in range(MAX_THREADS)]
    try:
        assert (await (await _asked(handler, "/healthz")).receive_output(10))["status"] == 200
    finally:
        answers.set()
        for request in waiting:
            assert (await request.receive_output(10))["status"] == 200
            await request.wait(10)


async def _asked(handler: Handler, path: str) -> ApplicationCommunicator:
    scope = {"type": "http", "http_version": "1.1", "method": "GET", "path": path, "raw_path": path.encode()}
    request = ApplicationCommunicator(handler, {**scope, "query_string": b"", "headers": [(b"host", b"localhost")]})
    await request.send_input({"type": "http.request", "body": b""})
    return request

"""The threads of requests: they are reused, and files need none."""

import threading
import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.db import OperationalError, connection, connections
from django.db.utils import ConnectionHandler
from django.http import HttpRequest, HttpResponse

from agentsite.asgi import Handler
from tests.server import free_port

pytestmark = pytest.mark.django_db(transaction=True)


async def get(handler: Handler, path: str) -> int:
    scope = {"type": "http", "http_version": "1.1", "method": "GET", "path": path, "raw_path": path.encode()}
    request = ApplicationCommunicator(handler, {**scope, "query_string": b"", "headers": [(b"host", b"localhost")]})
    await request.send_input({"type": "http.request", "body": b""})
    status = (await request.receive_output(60))["status"]
    await request.wait(60)
    return int(status)


async def test_requests_reuse_a_thread_and_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def look(request: HttpRequest) -> HttpResponse:
        connection.ensure_connection()
        kept = id(connection.connection) if connection.vendor == "sqlite" else None  # PostgreSQL's return to a pool
        seen.append((threading.get_ident(), kept))
        return HttpResponse()

    handler = Handler()
    monkeypatch.setattr(handler._sync_handler, "_middleware_chain", look)
    assert [await get(handler, "/readyz") for _ in range(20)] == [200] * 20
    assert len(set(seen)) < 10  # another thread is only started if the first is not yet idle
    assert threading.get_ident() not in {thread for thread, _ in seen}
    await sync_to_async(handler._threads.submit(connections.close_all).result)()


@pytest.mark.parametrize("is_patient", [True, False])
def test_request_fails_immediately_while_postgresql_is_away(is_patient: bool) -> None:
    where = {"ENGINE": "agentsite.postgresql", "NAME": "any", "HOST": "127.0.0.1", "PORT": free_port()}
    pooled = where | {"OPTIONS": {"pool": {"min_size": 1, "timeout": 1}}}
    away = ConnectionHandler({"default": {}, "away": pooled})["away"]  # pools are stored by alias
    away.is_patient = is_patient
    began = time.monotonic()
    try:
        with pytest.raises(OperationalError):
            away.ensure_connection()
        assert (time.monotonic() - began < 1) is not is_patient
    finally:
        away.close_pool()


async def test_static_file_needs_no_thread() -> None:
    handler = Handler()
    assert await get(handler, f"{settings.STATIC_URL}nothing.css") == 404
    assert not handler._threads._threads

"""Pages and streams opened while Redis is away, the sentences about it, and Redis behind TLS.

SQLite serves: no worker runs here.
"""

import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pytest

from tests.acceptance.conftest import CONFIG
from tests.acceptance.test_slow_readers import asked, handshake
from tests.certificates import Certificates
from tests.faults.servers import Redis, SecureRedis
from tests.server import ROOT, Server, configured
from tests.waiting import takes_less_than, until


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    running = Redis(tmp_path)
    running.start()
    yield running
    running.kill()


@pytest.fixture
def web(redis: Redis, tmp_path: Path) -> Iterator[Server]:
    server = configured(tmp_path, CONFIG, REDIS_URL=redis.url)
    try:
        yield server.start()
    finally:
        server.kill()


@pytest.fixture
def session(web: Server) -> str:
    return str(web.call("POST", "sessions/", {"model": "script"})["id"])


def test_stream_opened_without_redis_ends_and_a_later_one_works(redis: Redis, web: Server, session: str) -> None:
    redis.kill()
    with takes_less_than(5):
        assert list(web.events(session, 0)) == []
    redis.start()
    web.call("POST", f"sessions/{session}/messages/", {"content": "Hello."})

    def hears() -> bool:
        return any(event["event"] == "entry" for event in islice(web.events(session, 0), 1))

    until(hears)


def test_stream_opened_before_continues(redis: Redis, web: Server, session: str) -> None:
    web.call("POST", f"sessions/{session}/messages/", {"content": "Hello."})
    events = web.events(session, 0)
    assert next(events)["event"] == "entry"
    redis.kill()
    redis.start()

    def is_heard(title: str) -> bool:
        web.call("PATCH", f"sessions/{session}/", {"title": title})
        return web.call("GET", f"sessions/{session}/")["title"] == title

    with ThreadPoolExecutor(1) as reader:
        titles = reader.submit(lambda: next(event["data"]["title"] for event in events if event["event"] == "title"))
        until(lambda: is_heard("Still here") and titles.done(), every=0.5)
        assert titles.result() == "Still here"


def test_page_opened_without_redis_is_told_to_reconnect(redis: Redis, web: Server, session: str) -> None:
    headers = handshake(web)
    redis.kill()
    with takes_less_than(5), asked(web, f"/ws/sessions/{session}/", **headers) as page:
        answer = page.makefile("rb")
        assert b"".join(iter(answer.readline, b"\r\n")).startswith(b"HTTP/1.1 101 ")
        assert answer.read(4) == b"\x88\x02" + (1011).to_bytes(2, "big")  # a page reconnects only after this code


def test_requests_do_not_wait_for_redis(redis: Redis, web: Server, session: str) -> None:
    redis.kill()
    with takes_less_than(3):
        task = web.call("POST", f"sessions/{session}/messages/", {"content": "Hello."})["task"]
    with takes_less_than(8):
        assert web.call("GET", f"tasks/{task}/?wait=30")["state"] == "initializing"


def readiness(web: Server) -> str:
    try:
        answer = urllib.request.urlopen(f"{web.base_url}/readyz", timeout=20)
    except urllib.error.HTTPError as error:
        answer = error
    return str(json.loads(answer.read())["checks"]["broker"])


def doctor_is_satisfied(environment: dict[str, str]) -> str:
    """Return whether doctor reports no problem of Redis."""
    command = [sys.executable, "manage.py", "doctor", "--json"]
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    checks = json.loads(said.stdout)["checks"]
    words = [check["status"] for check in checks if check["name"] in ("broker", "channel layer")]
    assert len(words) == 2
    return "ok" if set(words) == {"ok"} else "not ok"


def test_probe_and_doctor_agree_about_redis(redis: Redis, web: Server) -> None:
    assert (readiness(web), doctor_is_satisfied(web.environment)) == ("ok", "ok")
    redis.kill()
    with takes_less_than(8):
        assert readiness(web) == "not ok"
    assert doctor_is_satisfied(web.environment) == "not ok"
    redis.start()
    until(lambda: readiness(web) == "ok")
    redis.hold(1)
    assert (readiness(web), doctor_is_satisfied(web.environment)) == ("not ok", "not ok")


# --- TLS --------------------------------------------------------------------------------------------------------------

_ASK_ALL = """
import asyncio, django, traceback
django.setup()
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.core.cache.backends.redis import RedisCache
from agentsite.celery import app
from agentsite.rates import Rates
from tasks_app.runtime.stream_buffer import store

def broker():
    with app.connection_for_write() as connection:
        connection.default_channel.client.ping()

cache = RedisCache(settings.CACHES["default"]["LOCATION"], settings.CACHES["default"])
layer = lambda: asyncio.run(get_channel_layer().send("any", {"type": "any"}))
rates = Rates(settings.REDIS_URL)
counted = lambda: asyncio.run(rates._redis.ping())
text = lambda: asyncio.run(store._redis.ping())
for name, ask in {"broker": broker, "cache": lambda: cache.get("any"), "layer": layer, "rates": counted, "text": text}.items():
    try:
        ask()
        print(name, "ok")
    except Exception as error:
        said = "".join(traceback.format_exception(error))
        print(name, "refused" if "certificate verify failed" in said else repr(error))
"""


@pytest.fixture
def answers(tmp_path: Path) -> Callable[[str], set[str]]:
    """Return a function that tests an address with each of the five clients of Redis."""

    def ask(url: str) -> set[str]:
        server = Server(tmp_path / "var", REDIS_URL=url, SECRET_KEY="x", FIELD_ENCRYPTION_KEY="_" * 42 + "8=")
        environment = {**server.environment, "DJANGO_SETTINGS_MODULE": "agentsite.settings"}
        command = [sys.executable, "-c", _ASK_ALL]
        said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        lines = dict(line.split(" ", 1) for line in said.stdout.splitlines())
        assert lines.keys() == {"broker", "cache", "layer", "rates", "text"}, said.stderr
        return set(lines.values())

    return ask


@pytest.fixture
def secure_redis(tmp_path: Path) -> Iterator[SecureRedis]:
    running = SecureRedis(tmp_path, Certificates(tmp_path))
    running.start()
    yield running
    running.kill()


def test_all_clients_verify_the_certificate_of_redis(
    secure_redis: SecureRedis, answers: Callable[[str], set[str]], tmp_path: Path
) -> None:
    assert answers(secure_redis.url) == {"ok"}
    bare = secure_redis.url.partition("?")[0]
    assert answers(bare) == {"refused"}  # its authority is unknown
    (tmp_path / "other").mkdir()
    other = Certificates(tmp_path / "other").authority
    assert answers(f"{bare}?ssl_ca_certs={other}") == {"refused"}
    assert answers(secure_redis.url.replace("127.0.0.1", "localhost")) == {
        "refused"
    }  # the certificate has only the address
    assert answers(f"{bare}?ssl_cert_reqs=none") == {"ok"}


def test_server_works_with_redis_over_tls(secure_redis: SecureRedis, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "var", ignore_errors=True)
    web = configured(tmp_path, CONFIG, REDIS_URL=secure_redis.url)
    try:
        web.start()
        assert (readiness(web), doctor_is_satisfied(web.environment)) == ("ok", "ok")
    finally:
        web.kill()

"""A team's deployment on this machine's PostgreSQL and Redis: a web and separate Celery workers."""

import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis
from cryptography.fernet import Fernet

from tests.acceptance.conftest import CONFIG
from tests.server import KEYS, POSTGRES, REDIS, ROOT, Server, migrate


class Team:
    """A team whose web is `server`. Tests start and kill its workers."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.workers: list[subprocess.Popen[bytes]] = []

    def start_worker(self, threads: int = 16) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "-A", "agentsite", "worker", "-P", "threads", "-c", str(threads)]
        command += ["--without-gossip", "--without-mingle", "-n", f"w{len(self.workers)}@%h"]
        with self.server.output.open("a") as output:
            worker = subprocess.Popen(
                command, cwd=ROOT, env=self.server.environment, stdout=output, stderr=subprocess.STDOUT
            )
        self.workers.append(worker)
        return worker

    def end_workers(self) -> None:
        while self.workers:
            worker = self.workers.pop()
            worker.kill()
            worker.wait()


@contextmanager
def database(template: str = "template1") -> Iterator[str]:
    """Yield the name of a new database, which is dropped afterwards."""
    name = f"agentsite_test_{uuid.uuid4().hex[:12]}"
    try:
        connection = psycopg.connect(f"{POSTGRES}/postgres", autocommit=True, connect_timeout=2)
    except psycopg.OperationalError:
        pytest.skip("no PostgreSQL here")
    with connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield name
    with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a database with empty tables, the template of others."""
    with database() as name:
        migrate(DATABASE_URL=f"{POSTGRES}/{name}", AGENTSITE_VAR=str(tmp_path_factory.mktemp("migrated")), **KEYS)
        yield name


@pytest.fixture
def empty_postgres() -> Iterator[str]:
    """The address of a new database without tables."""
    with database() as name:
        yield f"{POSTGRES}/{name}"


@pytest.fixture
def postgres(migrated: str) -> Iterator[str]:
    """The address of a new database with all tables."""
    with database(migrated) as name:
        yield f"{POSTGRES}/{name}"


@pytest.fixture(scope="module")
def shared_team(migrated: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with database(migrated) as name, redis_database() as url:
        with started(f"{POSTGRES}/{name}", url, tmp_path_factory.mktemp("team")) as running:
            yield running


@pytest.fixture
def team(shared_team: Team) -> Iterator[Team]:
    """One web for the tests of a module, as it is slow to start. Each test starts workers, which end with it."""
    yield shared_team
    shared_team.end_workers()


@pytest.fixture
def redis_url() -> Iterator[str]:
    with redis_database() as url:
        yield url


@contextmanager
def redis_database() -> Iterator[str]:
    """Yield the address of an empty numbered database of Redis, which is emptied afterwards."""
    for number in range(1, 16):
        client = redis.Redis.from_url(f"{REDIS}/{number}", socket_connect_timeout=2)
        try:
            if client.dbsize() == 0 and client.set("agentsite-test", "1", nx=True):
                break
        except redis.ConnectionError:
            pytest.skip("no Redis here")
    else:
        pytest.skip("no empty Redis database here")
    yield f"{REDIS}/{number}"
    client.flushdb()


@pytest.fixture
def own_team(postgres: str, redis_url: str, tmp_path: Path) -> Iterator[Team]:
    """A team for a test that breaks it."""
    with started(postgres, redis_url, tmp_path) as running:
        yield running


@pytest.fixture
def new_team(empty_postgres: str, redis_url: str, tmp_path: Path) -> Iterator[Team]:
    """A team whose database was empty when the web started."""
    with started(empty_postgres, redis_url, tmp_path) as running:
        yield running


@contextmanager
def started(postgres: str, redis_url: str, tmp_path: Path) -> Iterator[Team]:
    config = tmp_path / "agentsite.yml"
    config.write_text(CONFIG)
    server = Server(
        tmp_path / "var",
        DATABASE_URL=postgres,
        REDIS_URL=redis_url,
        SECRET_KEY="for tests",
        FIELD_ENCRYPTION_KEY=Fernet.generate_key().decode(),
        AGENTSITE_CONFIG=str(config),
        AGENTSITE_LEASE_SECONDS="3",
    )
    running = Team(server)
    try:
        server.start()
        yield running
    finally:
        running.end_workers()
        running.server.kill()

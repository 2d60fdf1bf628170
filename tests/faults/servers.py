"""PostgreSQL and Redis servers of this suite that tests kill and start again."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

from tests.certificates import Certificates
from tests.server import ended_unless_up, free_port
from tests.waiting import until


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class _OwnServer:
    """A process that listens on its own port. `kill` is `kill -9`; the data stays."""

    def __init__(self) -> None:
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def is_up(self) -> bool:
        raise NotImplementedError

    def options(self) -> dict[str, Any]:
        return {}

    def start(self) -> None:
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(self.command(), **silent, **self.options())
        with ended_unless_up(self.process):
            until(self.is_up)

    def end(self, how: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(60)
        until(lambda: not _answers(self.port))

    def kill(self) -> None:
        self.end(signal.SIGKILL)


class Postgres(_OwnServer):
    """A PostgreSQL server. `restart` cuts off all connections (SIGQUIT, like a crash) and recovers from the log."""

    def __init__(self) -> None:
        super().__init__()
        binaries = _folder_of_postgres()
        if binaries is None:
            pytest.skip("no PostgreSQL server's programs here (initdb)")
        self._binaries = binaries
        self._folder = Path(tempfile.mkdtemp(prefix="agentsite-faults-"))  # pytest's folders are closed to other users
        self._user = _unprivileged()
        if self._user:
            os.chown(self._folder, self._user, self._user)
        initdb = [str(binaries / "initdb"), "-D", str(self._data), "-U", "postgres", "-A", "trust", "--no-sync"]
        subprocess.run(initdb, check=True, capture_output=True, **self.options())

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def url(self, name: str = "postgres", port: int = 0) -> str:
        return f"postgres://postgres@127.0.0.1:{port or self.port}/{name}?sslmode=disable"

    def command(self) -> Sequence[str]:
        settings = [f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"]
        pairs = [part for setting in [*settings, "max_connections=300"] for part in ("-c", setting)]
        return [str(self._binaries / "postgres"), "-D", str(self._data), *pairs]

    def options(self) -> dict[str, Any]:
        owner = {"user": self._user, "group": self._user, "extra_groups": []} if self._user else {}
        return {**owner, "cwd": "/"}

    def is_up(self) -> bool:
        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def crash(self) -> None:
        self.end(signal.SIGQUIT)

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def remove(self) -> None:
        self.crash()
        shutil.rmtree(self._folder, ignore_errors=True)


def _folder_of_postgres() -> Path | None:
    found = shutil.which("initdb")
    newest = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return Path(found).parent if found else newest[-1].parent if newest else None


def _unprivileged() -> int:
    """Return an unprivileged user's id, since PostgreSQL refuses to run as root, or 0 if we are not root."""
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else 0


class Redis(_OwnServer):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("no redis-server here")
        self._program, self._folder = program, folder

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> Sequence[str]:
        paths = ["--dir", str(self._folder), "--dbfilename", f"{self.port}.rdb"]
        return [self._program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "3600 1", *paths]

    def is_up(self) -> bool:
        try:
            return bool(redis.Redis.from_url(self.url).ping())
        except redis.RedisError:
            return False

    def hold(self, most: int) -> None:
        """Limit the memory in bytes, beyond which it refuses writes. 0 is no limit."""
        redis.Redis.from_url(self.url).config_set("maxmemory", most)

    def stop(self) -> None:
        """Stop the server and keep its data."""
        self.end(signal.SIGTERM)

    def lose(self) -> None:
        """Stop the server and delete its data."""
        self.kill()
        (self._folder / f"{self.port}.rdb").unlink(missing_ok=True)


class SecureRedis(Redis):
    """A Redis server that requires TLS, with a certificate for 127.0.0.1."""

    def __init__(self, folder: Path, authority: Certificates) -> None:
        super().__init__(folder)
        self._authority, (self._certificate, self._key) = authority, authority.issue("127.0.0.1")

    @property
    def url(self) -> str:
        return f"rediss://127.0.0.1:{self.port}/0?ssl_ca_certs={self._authority.authority}"

    def command(self) -> Sequence[str]:
        files = ["--tls-cert-file", str(self._certificate), "--tls-key-file", str(self._key)]
        ports = ["--port", "0", "--tls-port", str(self.port), "--bind", "127.0.0.1"]
        return [self._program, *ports, *files, "--tls-auth-clients", "no", "--save", "", "--dir", str(self._folder)]

"""A script that runs a team's processes on this machine (`make team`), with a local PostgreSQL and Redis.

A process that ends is restarted after a pause, which grows while it keeps ending. Ctrl-C ends them all. Use it to try
a team out; in production, use docker-compose.yml or a service manager.
"""

import asyncio
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import psycopg
import redis
from psycopg import sql

from agentsite.environment import BASE_DIR, REDIS_URL, VAR_DIR, create_var, env, stored_key

DATABASE_HERE = "postgres://postgres@127.0.0.1:5432/agentsite"
REDIS_HERE = "redis://127.0.0.1:6379/0"
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds before a restart; doubled each time
STEADY_SECONDS = 30.0  # a process that ran so long is restarted after the first pause
GRACE_SECONDS = 5.0  # between SIGTERM and SIGKILL
LONGEST_LINE = 2**20  # bytes
_AS_ROOT = "You're running the worker with superuser"  # a warning of ten lines, in each worker
_CELERY = (sys.executable, "-W", f"ignore:{_AS_ROOT}", "-m", "celery", "-A", "agentsite", "--quiet")
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


@dataclass(frozen=True)
class TeamProgram:
    name: str
    command: tuple[str, ...]


def team_programs(webs: int, workers: int, port: int) -> Iterator[TeamProgram]:
    """Yield the programs of a team, besides PostgreSQL and Redis. The webs listen on ports from `port` on."""
    for number in range(webs):
        yield TeamProgram(f"web.{number + 1}", (sys.executable, "manage.py", "serve", "--port", str(port + number)))
    for number in range(1, workers + 1):
        options = ("-P", "threads", "-n", f"worker{number}@%h", "--without-gossip", "--without-mingle")
        yield TeamProgram(f"worker.{number}", (*_CELERY, "worker", *options))
    yield TeamProgram("beat", (*_CELERY, "beat"))


class TeamSupervisor:
    """A supervisor that keeps programs running, and prints their output after their names."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._width = 0

    async def run(self, *team: TeamProgram) -> None:
        """Run the programs until SIGINT, SIGTERM or SIGHUP."""
        self._width = max(len(program.name) for program in team)
        running = asyncio.gather(*map(self._keep_running, team))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, running.cancel)
        with suppress(asyncio.CancelledError):
            await running

    async def _keep_running(self, program: TeamProgram) -> None:
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            status = await self._run(program)
            pause = FIRST_PAUSE if time.monotonic() - began > STEADY_SECONDS else pause
            self._show(program, f"ended with status {status}, and starts again in {pause:.0f} s.")
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _run(self, program: TeamProgram) -> int:
        """Run a program and return its exit status."""
        process = await asyncio.create_subprocess_exec(
            *program.command,
            cwd=BASE_DIR,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=LONGEST_LINE,
            start_new_session=True,  # only this process handles Ctrl-C
            preexec_fn=_end_with_parent,
        )
        try:
            assert process.stdout is not None
            async for line in process.stdout:
                self._show(program, line.decode(errors="replace").rstrip())
            return await process.wait()
        finally:
            await _end(process)

    def _show(self, program: TeamProgram, line: str) -> None:
        sys.stdout.write(f"{program.name:{self._width}} | {line}\n")
        sys.stdout.flush()


def _end_with_parent() -> None:
    """End the child with its parent, so that the ports are free even after `kill -9` of the parent. Linux only."""
    if sys.platform == "linux":
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), GRACE_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


class CannotStart(Exception):
    """The message says what to do."""


def prepare_database(url: str) -> None:
    """Create the database if it does not exist."""
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError as error:
        if "does not exist" not in str(error):
            raise CannotStart(f"No PostgreSQL answers: {error}\nStart one, or set DATABASE_URL.") from error
        name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        with psycopg.connect(url, dbname="postgres", autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(str(name))))


def check_redis(url: str) -> None:
    try:
        redis.Redis.from_url(url, socket_connect_timeout=5).ping()
    except redis.RedisError as error:
        raise CannotStart(f"No Redis answers: {error}\nStart one, or set REDIS_URL.") from error


def main() -> None:
    database = env.str("DATABASE_URL", default="") or DATABASE_HERE
    broker = REDIS_URL or REDIS_HERE
    try:
        prepare_database(database)
        check_redis(broker)
    except (CannotStart, psycopg.Error) as error:
        sys.exit(str(error))
    create_var()
    shared = {
        "DATABASE_URL": database,
        "REDIS_URL": broker,
        "AGENTSITE_VAR": str(VAR_DIR),
        **{name: env.str(name, default="") or stored_key(name) for name in ("SECRET_KEY", "FIELD_ENCRYPTION_KEY")},
    }
    team = team_programs(env.integer("WEBS", 2), env.integer("WORKERS", 2), env.integer("PORT", 8000))
    asyncio.run(TeamSupervisor(os.environ | shared).run(*team))


if __name__ == "__main__":
    main()

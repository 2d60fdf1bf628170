"""The identity of this engine process: its name, its lock file, and its draining.

A lock file shows whether its process lives. Its first line names the host: hosts may share the folder, and a file lock
need not reach further than one host. The other lines list the process groups that tools started, so that recovery can
end them after a `kill -9`.

`in_thread` lets a tool, which is a coroutine, use synchronous code: model calls and the database.
"""

import asyncio
import fcntl
import json
import os
import socket
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from django.conf import settings
from django.db import connection

from llm_app.call import Runner
from tasks_app.runtime.cancellation import Interruption
from tools_app.sandbox import ProcessIdentity, supervision


@dataclass(frozen=True)
class LockFile:
    path: Path
    file: IO[str]
    owner: str  # the name in leases


_creating = threading.Lock()
_own: LockFile | None = None
_draining = threading.Event()


def name() -> str:
    """Return this process's name, as its leases carry it: host and lock file."""
    return _own_lock().owner


def drain() -> None:
    """Finish the steps that run, and take nothing new from now on."""
    _draining.set()


def is_draining() -> bool:
    return _draining.is_set()


def ask_to_drain(owner: str) -> None:
    """Ask another process of this host to drain: it polls for the file."""
    _drain_file(_folder() / owner.partition(":")[2]).touch()


def is_asked_to_drain() -> bool:
    return _drain_file(_own_lock().path).exists()


def _drain_file(lock: Path) -> Path:
    return lock.with_suffix(".drain")


def record_group(started: ProcessIdentity) -> None:
    """Append a process group to the lock file. One short line: cheap enough for the event loop."""
    file = _own_lock().file
    file.write(json.dumps({"pid": started.pid, "start_time": started.start_time}) + "\n")
    file.flush()


def other_host(owner: str) -> str:
    """Return the host of a process, or '' if it is this host."""
    host = owner.partition(":")[0]
    return "" if host == socket.gethostname() else host


def is_dead(owner: str) -> bool:
    """Return whether a lease's owner is known to be dead.

    It is if it was on this host and its lock file is missing or can be locked. An empty name is not dead.
    """
    if not owner or other_host(owner):
        return False
    file_name = owner.partition(":")[2]
    try:
        with open(_folder() / file_name) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True


def end() -> None:
    """End the process groups of this process's tools and remove its lock file, when the process ends."""
    global _own
    _end_groups(_own_lock().path)
    forget(name())
    _own = None


def clean_up(owner: str) -> None:
    """End the process groups of a dead process of this host and remove its files."""
    path = _folder() / owner.partition(":")[2]
    if is_dead(owner) and path.exists():
        _end_groups(path)
        forget(owner)


def forget(owner: str) -> None:
    """Remove the files of a process. If it still lives, it creates them again."""
    path = _folder() / owner.partition(":")[2]
    _drain_file(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _end_groups(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    for line in lines:
        if line.endswith("\n") and "pid" in (entry := json.loads(line)):  # a crash may have truncated the last one
            supervision.end_group(ProcessIdentity(**entry))


def clean_up_dead() -> None:
    """Clean up after each dead process of this host."""
    for owner in _owners():
        clean_up(owner)


def owners_on_other_hosts() -> list[str]:
    """Return the names of processes of other hosts, whose locks tell nothing here."""
    return [owner for owner in _owners() if other_host(owner)]


def _owners() -> list[str]:
    """Return the names of processes with a lock file. The folder also holds the server's lock, which is skipped."""
    return [f"{_host_of(path)}:{path.name}" for path in _folder().glob("[0-9a-f]" * 32)]


def _host_of(path: Path) -> str:
    """Return the host in a lock file, or this host for a file that names none or has disappeared."""
    try:
        with path.open() as file:
            first = file.readline()
    except FileNotFoundError:
        first = ""
    entry = json.loads(first) if first.endswith("\n") else {}
    return str(entry.get("host", socket.gethostname()))


def _own_lock() -> LockFile:
    """Return this process's lock file. A removed file is created again under its name, which leases carry."""
    global _own
    with _creating:
        if _own is None:
            _own = _create_lock_file(uuid.uuid4().hex, json.dumps({"host": socket.gethostname()}) + "\n")
        elif not os.path.exists(_own.path):  # runs with each write of a task, and is faster than `Path.exists`
            _own.file.seek(0)
            _own = _create_lock_file(_own.path.name, _own.file.read())
        return _own


def _create_lock_file(file_name: str, content: str) -> LockFile:
    path = _folder() / file_name
    draft = path.with_suffix(".new")  # renamed once it is locked: others may look at any time
    file = open(draft, "w+", opener=_private)
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write(content)
    file.flush()
    return LockFile(draft.rename(path), file, f"{socket.gethostname()}:{file_name}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _folder() -> Path:
    folder = Path(settings.RUN_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


T = TypeVar("T")
_threads = ThreadPoolExecutor(max_workers=128, thread_name_prefix="beside-loop")  # as many as tasks: each has one


async def in_thread(work: Callable[[Runner], T]) -> T:
    """Run `work` in a thread. Coroutines that it gives to its runner run on this event loop.

    A cancellation of the caller cancels the coroutine that runs; `in_thread` still returns only after `work` has ended.
    """
    interruption = Interruption(lambda: True)  # only a cancellation signals it
    inherited = copy_context().run  # with the log ids
    loop = asyncio.get_running_loop()
    running = loop.run_in_executor(_threads, inherited, _in_thread, work, interruption)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        interruption.signal()
        await asyncio.wait([running])
        running.exception()  # read, so that asyncio does not report it
        raise


def _in_thread(work: Callable[[Runner], T], run: Runner) -> T:
    try:
        return work(run)
    finally:
        connection.close()

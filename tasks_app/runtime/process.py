"""This engine process: its name, a lock file that shows whether it is alive, and whether it is about to end.

The file names its host first: hosts may share the folder, and a lock need not reach further than one. Then it lists the
process groups that its tools started, so that recovery can end what a `kill -9` left behind.

Lets a tool, which is a coroutine, use synchronous code: calls of models, and the database.
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
from tools_app.sandbox import Started, supervision


@dataclass(frozen=True)
class LockFile:
    path: Path
    file: IO[str]
    owner: str  # as leases name it


_creating = threading.Lock()
_own: LockFile | None = None
_draining = threading.Event()


def name() -> str:
    """The name that this process's leases carry: host and lock file."""
    return _own_lock().owner


def drain() -> None:
    """From now on this process finishes the steps that run, and takes nothing new."""
    _draining.set()


def is_draining() -> bool:
    return _draining.is_set()


def ask_to_drain(owner: str) -> None:
    """The same for another process of this host, which looks for the file."""
    _drain_file(_folder() / owner.partition(":")[2]).touch()


def is_asked_to_drain() -> bool:
    return _drain_file(_own_lock().path).exists()


def _drain_file(lock: Path) -> Path:
    return lock.with_suffix(".drain")


def remember(started: Started) -> None:
    """Notes a process group. One short line to a file: cheap enough for the event loop."""
    file = _own_lock().file
    file.write(json.dumps({"pid": started.pid, "start_time": started.start_time}) + "\n")
    file.flush()


def other_host(owner: str) -> str:
    """The host of a process, if it is not ours; else empty."""
    host = owner.partition(":")[0]
    return "" if host == socket.gethostname() else host


def is_dead(owner: str) -> bool:
    """Whether a lease's owner is known to be gone: it was on this host, and its file can be locked or is missing.

    Nobody (an empty name) is not dead.
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
    """At the end of this process: ends what its tools still run, and removes its file."""
    global _own
    _end_groups(_own_lock().path)
    forget(name())
    _own = None


def clean_up(owner: str) -> None:
    """Ends what a dead process of this host left running, and forgets the process."""
    path = _folder() / owner.partition(":")[2]
    if is_dead(owner) and path.exists():
        _end_groups(path)
        forget(owner)


def forget(owner: str) -> None:
    """Removes its files. If it lives all the same, it makes them anew."""
    path = _folder() / owner.partition(":")[2]
    _drain_file(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _end_groups(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    for line in lines:
        if line.endswith("\n") and "pid" in (noted := json.loads(line)):  # a crash may have cut the last one short
            supervision.end_group(Started(**noted))


def clean_up_the_dead() -> None:
    """The same for every dead process of this host."""
    for owner in _owners():
        clean_up(owner)


def of_other_hosts() -> list[str]:
    """The names of processes whose files lie here, and whose locks tell nothing."""
    return [owner for owner in _owners() if other_host(owner)]


def _owners() -> list[str]:
    """Whose files lie in the folder. It also holds the server's lock, which is no process's."""
    return [f"{_host_of(path)}:{path.name}" for path in _folder().glob("[0-9a-f]" * 32)]


def _host_of(path: Path) -> str:
    """Ours for a file of a version that noted none, and for one that is gone again."""
    try:
        with path.open() as file:
            first = file.readline()
    except FileNotFoundError:
        first = ""
    noted = json.loads(first) if first.endswith("\n") else {}
    return str(noted.get("host", socket.gethostname()))


def _own_lock() -> LockFile:
    """Made anew, with what it notes, where somebody has removed it: leases carry its name."""
    global _own
    with _creating:
        if _own is None:
            _own = _locked(uuid.uuid4().hex, json.dumps({"host": socket.gethostname()}) + "\n")
        elif not os.path.exists(_own.path):  # asked with each write of a task: without what a Path does beside
            _own.file.seek(0)
            _own = _locked(_own.path.name, _own.file.read())
        return _own


def _locked(file_name: str, notes: str) -> LockFile:
    path = _folder() / file_name
    draft = path.with_suffix(".new")  # it gets its name when it is locked: others may look at once
    file = open(draft, "w+", opener=_private)
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write(notes)
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
    """Runs `work` in a thread of its own. What it gives to the runner runs here, on the loop, and is cancelled with us;
    `work` has come to its end, whatever that is, before we go on.
    """
    interruption = Interruption(lambda: True)  # it is signalled for a cancellation only
    inherited = copy_context().run  # the ids of the log
    loop = asyncio.get_running_loop()
    running = loop.run_in_executor(_threads, inherited, _in_thread, work, interruption)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        interruption.signal()
        await asyncio.wait([running])
        running.exception()  # asyncio reports what nobody reads, and it was we who ended it
        raise


def _in_thread(work: Callable[[Runner], T], run: Runner) -> T:
    try:
        return work(run)
    finally:
        connection.close()

"""Checks of shared infrastructure: database, storage, broker, channel layer, and the workers that advance tasks."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from uuid import uuid4

from celery import current_app
from django.conf import settings
from django.core.checks import CheckMessage
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from kombu.exceptions import OperationalError

from agentsite.checks.messages import broken, note, ok
from agentsite.environment import EMBEDDED
from agentsite.serving import server_lock
from tasks_app.models import ALIVE_SECONDS, EngineProcess, Task
from tasks_app.runtime import broadcast, event_loop, process
from tasks_app.runtime.listener import Listener
from tools_app.files import in_units

_CONNECT_SECONDS = 2
_ROUND_TRIP_SECONDS = 3
_MANY_USERS, _LARGE_BYTES = 5, 50 * 1000**3  # from these figures on, PostgreSQL serves a team better
_REDIS = "Check REDIS_URL and Redis."


def database_is_ready() -> Iterator[CheckMessage]:
    reachable = database_answers()
    yield reachable
    if reachable.is_serious():
        return
    migrated = migrations_are_applied()
    yield migrated
    if not migrated.is_serious():
        yield from sqlite_suffices()


def database_answers() -> CheckMessage:
    """Check the database with a new connection: the pool would wait long for a server that is gone."""
    new_connection = connection.copy()
    if connection.vendor == "postgresql":
        new_connection.settings_dict["OPTIONS"] = {"connect_timeout": _CONNECT_SECONDS}
    try:
        with closing(new_connection), new_connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        return broken(1, "database", f"The database cannot be reached: {reason}.", "Check DATABASE_URL.")
    return ok(1, "database", f"{connection.display_name} answers.")


def migrations_are_applied() -> CheckMessage:
    """Check the migrations. The database must be reachable."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        sentence = f"Not all migrations are applied: {len(missing)} missing."
        return broken(2, "migrations", sentence, "Run: manage.py migrate")
    return ok(2, "migrations", "All migrations are applied.")


def sqlite_suffices() -> Iterator[CheckMessage]:
    """Check the journal of SQLite, and whether it suffices for its load.

    Without a write-ahead log, readers and writers block each other. Even with one, there is one writer at a time.
    """
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        mode = cursor.fetchone()[0]
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        size = cursor.fetchone()[0]
    week = timezone.now() - timedelta(days=7)
    people = Task.objects.filter(created_at__gt=week).order_by().values("started_by").distinct().count()
    if people >= _MANY_USERS or size > _LARGE_BYTES:
        sentence = f"SQLite holds {in_units(size)}, and {people} people have worked with it in the last week."
        yield note(6, "size", sentence, "Move to PostgreSQL: docs/operations.md says how.")
    if mode == "wal":
        yield ok(3, "journal", "SQLite writes ahead (WAL).")
    else:
        yield broken(3, "journal", f"SQLite's journal mode is {mode}, not wal.", "Keep the database on a local disk.")


def storage_works() -> CheckMessage:
    """Store a few bytes, read them and delete them."""
    name, data, bucket = f"doctor-{uuid4()}", b"doctor", settings.STORAGES["default"]["OPTIONS"].get("bucket_name")
    hint = "Check STORAGE_URL, and the rights of its key." if bucket else "Make AGENTSITE_VAR writable."
    location = f"the bucket {bucket}" if bucket else str(settings.VAR_DIR)
    try:
        default_storage.save(name, ContentFile(data))
        with default_storage.open(name) as file:
            if file.read() != data:
                raise OSError("it gives back other bytes than it was given.")
        default_storage.delete(name)
    except OSError as error:
        return broken(82, "storage", f"Files cannot be kept in {location}: {error}", hint)
    return ok(82, "storage", f"Files of projects are kept in {location}.")


def broker_answers() -> CheckMessage:
    """Check that the broker answers and accepts writes, which a full Redis or a replica does not."""
    from redis.exceptions import RedisError

    try:
        with current_app.connection_for_write(connect_timeout=_CONNECT_SECONDS) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=_CONNECT_SECONDS)
            if not EMBEDDED:
                broker.default_channel.client.set("agentsite:written", 1, ex=_ROUND_TRIP_SECONDS)
    except (OperationalError, OSError, RedisError) as error:
        sentence = f"The broker cannot be reached, or takes no messages: {type(error).__name__}."
        return broken(4, "broker", sentence, _REDIS)
    return ok(4, "broker", "The broker is this process's memory." if EMBEDDED else "Redis answers.")


def channel_layer_delivers() -> CheckMessage:
    """Send a message through the channel layer and receive it."""
    try:
        event_loop.submit(asyncio.wait_for(_send_and_receive(), _ROUND_TRIP_SECONDS)).result()
    except Exception as error:  # noqa: BLE001  each layer has its own errors
        return broken(5, "channel layer", f"A message was not delivered: {type(error).__name__}.", _REDIS)
    return ok(5, "channel layer", "A message was delivered.")


async def _send_and_receive() -> None:
    received: asyncio.Queue[object] = asyncio.Queue()
    listener = Listener("doctor", received.put_nowait, received.put_nowait)
    await listener.join()
    try:
        listener.start()
        await broadcast.send("doctor", {"type": "doctor"})
        if isinstance(answer := await received.get(), Exception):
            raise answer
    finally:
        await listener.leave()


def worker_is_alive() -> CheckMessage:
    """Check for a process with a recent heartbeat that is not known to be dead. The database must be reachable."""
    names = EngineProcess.objects.alive().values_list("name", flat=True)
    alive = sum(not process.is_dead(name) for name in names)
    if alive:
        return ok(10, "worker", f"{alive} {'process advances' if alive == 1 else 'processes advance'} tasks.")
    if EMBEDDED and not server_lock.holder():
        return note(11, "worker", "The server is not running.", "Start it with: make run")
    return broken(
        12,
        "worker",
        f"No worker has sent a heartbeat for {ALIVE_SECONDS} s, so tasks are waiting.",
        "Restart the server." if EMBEDDED else "Start a worker: celery -A agentsite worker -P threads",
    )


def worker_is_unknown() -> CheckMessage:
    """Return the message about workers for an unreachable database."""
    return broken(13, "worker", "Workers cannot be seen without the database.", "Repair the database first.")

"""Session hubs: one subscription and one database read for all subscribers of a session in this process."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from tasks_app.hub.access_watch import AccessWatch, SessionStatus
from tasks_app.hub.live_fragments import EXPENSIVE_SECONDS
from tasks_app.hub.snapshot import BACKLOG_ENTRIES, SessionGone, SessionSnapshot
from tasks_app.hub.streams import MarkdownStreams, OpenStreams
from tasks_app.hub.updates import DeltaBatcher, Event, Update
from tasks_app.pages.fragments import Viewer
from tasks_app.runtime import broadcast
from tasks_app.runtime.broadcast import ReadDue
from tasks_app.runtime.event_loop import in_thread
from tasks_app.runtime.listener import Listener

if TYPE_CHECKING:
    from tasks_app.hub.subscriber import Subscriber

logger = logging.getLogger(__name__)
GATHER_SECONDS = 0.03  # from a change to the refresh, as a call, its result and its states often arrive together
REFRESH_SECONDS = 0.12  # minimum between two refreshes
Hint = dict[str, Any]


class SessionHub:
    """The hub of one session: its subscribers, its snapshot, and the hints that start a refresh.

    Used on the event loop. Messages of the channel layer are only hints: updates are read from the database. Text
    deltas are sent as they arrive. The first delta of a stream waits if a refresh is due, so that a call arrives before
    its output.
    """

    def __init__(self, session_id: UUID) -> None:
        self.session_id = session_id
        self.snapshot = SessionSnapshot(session_id)
        self.subscribers: dict[Subscriber[Any], None] = {}
        self._listener = Listener(f"session.{session_id.hex}", self._handle_hint, self._fail)
        self._refresh_due = ReadDue()
        self._is_refreshing = False
        self._inbox_changed = True
        self._last_state: Any = None
        self._pending_events: list[Hint] = []  # events sent after the next refresh
        self._held_deltas: list[Hint] = []  # deltas sent after the next refresh
        self._markdown = MarkdownStreams(session_id, self.subscribers)
        self._streams = OpenStreams(on_end=self._markdown.end)
        self._batcher = DeltaBatcher(self._send_delta)
        self._delayed_refresh: asyncio.TimerHandle | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._opening: asyncio.Task[None] | None = None
        self.error: Exception | None = None  # the error that ended this hub

    # --- subscribers ---------------------------------------------------------------------------------------

    async def wait_until_open(self) -> None:
        """Wait until the hub listens and has read the session once.

        Raises: the error that ended the hub.
        """
        if self._opening is None:
            self._opening = asyncio.create_task(self._run(self._open))
        await asyncio.shield(self._opening)
        if self.error is not None:
            raise self.error

    async def _open(self) -> None:
        await self._listener.join()
        self._refresh_due.channel = self._listener.channel
        await self._refresh()
        if self.snapshot.task is not None:
            await self._resume_streams(str(self.snapshot.task.pk))
        self._tasks = [asyncio.create_task(self._run(self._refresh_repeatedly))]
        self._listener.start()

    async def _resume_streams(self, task: str) -> None:
        """Load the buffered text of running streams that no entry holds yet."""
        for stream in {delta["stream"] for delta in await self._streams.unsent_stored(task)}:
            if await in_thread(partial(self.snapshot.is_recorded, stream)):
                self._streams.end(stream)
        for delta in self._streams.whole_texts():
            self._markdown.add(delta)

    def subscribe(self, subscriber: "Subscriber[Any]") -> None:
        """Add a subscriber that has all entries that the hub has read."""
        if self.error is not None:
            subscriber.end(self.error)
        self.subscribers[subscriber] = None
        self._refresh_due.set()

    def unsubscribe(self, subscriber: "Subscriber[Any]") -> None:
        self.subscribers.pop(subscriber, None)

    async def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._opening
        await self._markdown.close()
        self._batcher.close()
        if self._delayed_refresh is not None:
            self._delayed_refresh.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._refresh_due.clear()
        await self._listener.leave()

    async def _run(self, work: Any) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001  logged and sent to the subscribers
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, broadcast.unreachable()):
            logger.warning("cannot follow session %s (clients reconnect): %s", self.session_id, error)
        elif not isinstance(error, SessionGone):
            logger.exception("following session %s failed", self.session_id)
        self.error = error
        for subscriber in list(self.subscribers):
            subscriber.end(error)

    # --- hints --------------------------------------------------------------------------------------------------

    def _handle_hint(self, hint: Hint) -> None:
        kind = hint["type"]
        if kind == "delta":
            self._handle_delta(hint)
        elif kind == "reset":
            self._held_deltas = [delta for delta in self._held_deltas if delta["stream"] != hint["stream"]]
            self._batcher.flush()
            self._streams.end(hint["stream"])
            self._send(Event(hint))
        elif kind == "entry":
            self._refresh_for_entry(hint["seq"])
        elif kind == "state":
            self._refresh_for_task(hint.get("task"), hint.get("state"), hint.get("waiting_for"))
        elif kind in ("child", "files", "silence"):
            self.snapshot.fragments.needs_files |= kind == "files"
            self._refresh_due.set()
        else:
            self._inbox_changed |= kind == "inbox"
            self._pending_events.append(hint)
            self._refresh_due.set()

    def _refresh_for_entry(self, seq: int) -> None:
        """Refresh if entry `seq` was not read yet."""
        if self.snapshot.seq is None or seq > self.snapshot.seq:
            self._refresh_due.set()

    def _refresh_for_task(self, *task_state: str | None) -> None:
        """Refresh unless the newest task was last read with this id, state and reason to wait."""
        task = self.snapshot.task
        last_state = (str(task.pk), task.state, task.waiting_for) if task else (None, None, None)
        if self._is_refreshing or task_state != last_state:
            self._refresh_due.set()

    def refresh_if_outdated(self, status: SessionStatus | None) -> None:
        """Refresh if the status differs from the snapshot. It is None for a deleted session."""
        if status is None or status.rights != self.snapshot.rights:
            self.snapshot.needs_rights = True
            self._refresh_due.set()
        else:
            self._refresh_for_entry(status.last_seq)
            self._refresh_for_task(*status.task)

    # --- text ---------------------------------------------------------------------------------------------------

    def _handle_delta(self, delta: Hint) -> None:
        has_gap = self._streams.has_gap_before(delta)
        if has_gap:
            self._refresh_due.set()
        if has_gap or self._must_wait(delta):
            self._held_deltas.append(delta)
        else:
            self._batch(self._streams.unsent(delta))

    def _must_wait(self, delta: Hint) -> bool:
        return (self._refresh_due.is_set() or self._is_refreshing) and not self._streams.is_known(delta["stream"])

    async def _release_held_deltas(self) -> None:
        """Send the held deltas, and the text of lost messages."""
        held, self._held_deltas = self._held_deltas, []
        for delta in held:
            if self._must_wait(delta):
                self._held_deltas.append(delta)
                continue
            if self._streams.has_gap_before(delta):
                self._batch(await self._streams.unsent_stored(delta["task"]))
            self._batch(self._streams.unsent(delta))

    def _batch(self, deltas: Iterable[Hint]) -> None:
        for delta in deltas:
            self._batcher.add(delta)

    def _send_delta(self, delta: Hint) -> None:
        self._send(Event(delta))
        self._markdown.add(delta)

    def _send(self, event: Event) -> None:
        for subscriber in list(self.subscribers):  # a subscriber may unsubscribe during the loop
            if not subscriber.is_new:
                subscriber.receive(event)

    # --- refreshes --------------------------------------------------------------------------------------------------

    async def _refresh_repeatedly(self) -> None:
        while True:
            await self._refresh_due.wait()
            await asyncio.sleep(GATHER_SECONDS)
            await self._refresh()
            await asyncio.sleep(REFRESH_SECONDS)

    async def _refresh(self) -> None:
        self._refresh_due.clear()
        pending_events, self._pending_events = self._pending_events, []
        inbox_changed, self._inbox_changed = self._inbox_changed, False
        subscribers_at_start = set(self.subscribers)
        identities = {subscriber.identity for subscriber in subscribers_at_start if subscriber.needs_html}
        has_newcomers = any(subscriber.is_new for subscriber in subscribers_at_start)
        self._is_refreshing = True
        try:
            refresh = partial(self.snapshot.refresh, inbox_changed=inbox_changed, has_newcomers=has_newcomers)
            update = await in_thread(partial(refresh, identities))
        finally:
            self._is_refreshing = False
        self._publish(update, pending_events, subscribers_at_start)
        await self._release_held_deltas()
        if len(update.appended) == BACKLOG_ENTRIES:  # more entries may be waiting
            self._refresh_due.set()
        if self._delayed_refresh is not None:
            self._delayed_refresh.cancel()
        if self.snapshot.fragments.needs_refresh:
            self._delayed_refresh = asyncio.get_running_loop().call_later(EXPENSIVE_SECONDS, self._refresh_due.set)

    def _publish(
        self, update: Update, pending_events: list[Hint], subscribers_at_start: "set[Subscriber[Any]]"
    ) -> None:
        self._batcher.flush()
        for appended in update.appended:
            self._streams.end(appended.entry.metadata.get("stream", ""))
        events = [Event(content) for content in pending_events]
        if update.state and update.state.content != self._last_state:
            self._last_state = update.state.content
            events.insert(0, update.state)
        for subscriber in list(self.subscribers):
            viewer = self.snapshot.viewer_of(subscriber.identity)
            if viewer is None:
                subscriber.end(SessionGone())
            elif subscriber in subscribers_at_start:
                self._deliver(subscriber, viewer, update, events)
            elif update.appended:
                subscriber.fall_behind()

    def _deliver(self, subscriber: "Subscriber[Any]", viewer: Viewer, update: Update, events: list[Event]) -> None:
        if subscriber.is_new:
            self._markdown.send_whole(subscriber)
            events = [Event(delta) for delta in self._streams.whole_texts()]
            if update.state:
                events.insert(0, update.state)
        if subscriber.receive_update(update, viewer):
            for event in events:
                subscriber.receive(event)


ACCESS_CHECK_SECONDS = 0.6  # upper bound for delivery after access is revoked, and for the delay after a lost broadcast


class HubRegistry:
    """A registry of one event loop's hubs, discarded with the last subscriber.

    `hub.subscribers` get live updates; the registry also counts those that read the backlog.
    """

    _by_loop: ClassVar[dict[asyncio.AbstractEventLoop, "HubRegistry"]] = {}

    def __init__(self) -> None:
        self._hubs: dict[UUID, SessionHub] = {}
        self._subscribers: dict[SessionHub, dict[Any, None]] = {}
        self._checks: asyncio.Task[None] | None = None

    @classmethod
    def current(cls) -> "HubRegistry":
        return cls._by_loop.setdefault(asyncio.get_running_loop(), cls())

    def subscribe(self, session_id: UUID, subscriber: Any) -> SessionHub:
        hub = self._hubs.get(session_id)
        if hub is None or hub.error is not None:  # a slow subscriber may still belong to the failed hub
            hub = self._hubs[session_id] = SessionHub(session_id)
        self._subscribers.setdefault(hub, {})[subscriber] = None
        if self._checks is None:
            self._checks = asyncio.create_task(self._run_checks())
        return hub

    async def unsubscribe(self, hub: SessionHub, subscriber: Any) -> None:
        hub.unsubscribe(subscriber)
        self._subscribers[hub].pop(subscriber, None)
        if self._subscribers[hub]:
            return
        del self._subscribers[hub]
        if self._hubs.get(hub.session_id) is hub:
            del self._hubs[hub.session_id]
        if not self._subscribers and self._checks is not None:
            checks, self._checks = self._checks, None
            checks.cancel()
            self._by_loop.pop(asyncio.get_running_loop(), None)
            await asyncio.gather(checks, return_exceptions=True)
        await hub.close()

    # --- access ----------------------------------------------------------------------------------------------

    async def _run_checks(self) -> None:
        watch = AccessWatch()
        while True:
            await asyncio.sleep(ACCESS_CHECK_SECONDS)
            try:
                await self._check_access(watch)
            except Exception:
                logger.exception("could not check the access of subscribers (retrying)")

    async def _check_access(self, watch: AccessWatch) -> None:
        credentials = {subscriber.credential for members in self._subscribers.values() for subscriber in members}
        statuses, errors = await in_thread(partial(watch.check, list(self._hubs), credentials))
        for hub, subscribers in list(self._subscribers.items()):
            for subscriber in list(subscribers):
                if subscriber.credential in errors:
                    subscriber.end(errors[subscriber.credential])
                elif subscriber.credential in credentials:  # subscribed before the check began
                    # The user was loaded when the subscription began.
                    subscriber.identity.user.is_staff = subscriber.credential.user_id in watch.staff_ids
            hub.refresh_if_outdated(statuses.get(hub.session_id))

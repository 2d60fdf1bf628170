"""The session page's websocket: HTML for what is in the record, JSON for the text that streams."""

import asyncio
import logging
import time
from contextlib import aclosing
from functools import partial
from typing import Any
from urllib.parse import parse_qs

import orjson
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.urls import path

from tasks_app.access import SignedOut, require_signed_in
from tasks_app.live.subscription import Event, Follower, SessionGone
from tasks_app.models import ContextEntry, ContextType, Session
from tasks_app.pages import fragments

logger = logging.getLogger(__name__)
NOT_SIGNED_IN, NOT_VISIBLE, FAULT = 4401, 4404, 1011  # the page comes back by itself only after the last
_in_thread = partial(database_sync_to_async, thread_sensitive=False)  # as the Follower: none holds a thread of its own
CHECK_SECONDS = 5.0  # how long a page that is signed out still hears


class SessionConsumer(AsyncWebsocketConsumer):
    """Sends one page what happens in its session, from the entry after `?after=SEQ` on. It takes no messages.

    Entries and the pieces around them are HTML that htmx swaps by id. The pieces of a running text are JSON: they come
    25 times a second, and as text in one text node they cost a browser a third of what HTML fragments cost (0.4 against
    1.3 ms each, with layout, in a text of 11 kB), and leave no element behind.
    """

    async def connect(self) -> None:
        """Accepts first: a browser is told the reason of a close, but not that of a refusal."""
        self._shown: dict[str, str] = {}
        self._seq = self._after()
        self._checked = float("-inf")
        await self.accept()
        self._following = asyncio.create_task(self._follow())

    async def disconnect(self, code: int) -> None:
        self._following.cancel()

    async def _follow(self) -> None:
        session_id = self.scope["url_route"]["kwargs"]["session_id"]
        try:
            await self._require_signed_in()
            async with aclosing(Follower(self.scope["user"], session_id, self._seq).events()) as events:
                async for event in events:
                    await self._require_signed_in()
                    await self._show(event)
        except SignedOut:
            await self.close(NOT_SIGNED_IN)
        except (SessionGone, Session.DoesNotExist):
            await self.close(NOT_VISIBLE)
        except Exception:
            logger.exception("following session %s failed", session_id)
            await self.close(FAULT)

    def _after(self) -> int:
        value = parse_qs(self.scope["query_string"].decode("ascii", "replace")).get("after", ["0"])[0]
        return int(value) if value.isdecimal() and len(value) < 10 else 0

    async def _require_signed_in(self) -> None:
        """Rights are the Follower's business; this is about the person, who may sign out. Raises SignedOut."""
        if time.monotonic() - self._checked > CHECK_SECONDS:
            await _in_thread(require_signed_in)(self.scope)
            self._checked = time.monotonic()

    # --- one event, shown ---------------------------------------------------------------------------------------

    async def _show(self, event: Event) -> None:
        if isinstance(event, ContextEntry):
            await self._show_entry(event)
        elif event["type"] in ("delta", "reset"):
            await self.send(orjson.dumps(event).decode())
        elif event["type"] in ("state", "inbox"):
            await self._show_changes(await self._render(fragments.live, self._seq))

    async def _show_entry(self, entry: ContextEntry) -> None:
        await self.send(await _in_thread(fragments.pushed)(entry, self.scope["user"]))
        self._seq = entry.seq
        if entry.context_type == ContextType.TOOL_RESULT:
            await self._show_changes({"files": await self._render(fragments.files)})

    async def _show_changes(self, pieces: dict[str, str]) -> None:
        """Sends what looks different from what this page has."""
        changed = {name: html for name, html in pieces.items() if self._shown.get(name) != html}
        self._shown |= changed
        if changed:
            await self.send("".join(changed.values()))

    @_in_thread
    def _render(self, piece: Any, *arguments: Any) -> Any:
        viewer = self.scope["user"]
        session = Session.objects.visible_to(viewer).get(pk=self.scope["url_route"]["kwargs"]["session_id"])
        return piece(session, viewer, *arguments)


websocket_urlpatterns = [path("ws/sessions/<uuid:session_id>/", SessionConsumer.as_asgi())]

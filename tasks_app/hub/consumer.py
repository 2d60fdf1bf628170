"""The websocket of a session's page: HTML for recorded entries, JSON for streaming text."""

import asyncio
import logging
from contextlib import aclosing
from functools import partial
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.urls import path

from tasks_app.access import SignedOut, require_signed_in
from tasks_app.hub.access_watch import Credential
from tasks_app.hub.snapshot import SessionGone
from tasks_app.hub.subscriber import PageSubscriber
from tasks_app.runtime import broadcast

logger = logging.getLogger(__name__)
NOT_SIGNED_IN, NOT_VISIBLE, FAULT = 4401, 4404, 1011  # the page reconnects only after the last one


class SessionConsumer(AsyncWebsocketConsumer):
    """A websocket that follows one session, from the entry after `?after=SEQ`, in the page's `language`.

    Entries and fragments are sent as HTML that htmx swaps by id. Streaming text is sent as JSON: Markdown as the HTML
    of its open block (`tasks_app/hub/streams`), thoughts and output as plain text. Messages from the page are ignored.
    """

    channel_layer_alias = "none"  # the session's hub listens for all pages. A layer here would need Redis

    async def connect(self) -> None:
        """Accept before any check: browsers report the reason of a close, but not that of a rejected handshake."""
        await self.accept()
        self._sending = asyncio.create_task(self._send_updates())

    async def disconnect(self, code: int) -> None:
        self._sending.cancel()

    async def _send_updates(self) -> None:
        session_id = self.scope["url_route"]["kwargs"]["session_id"]
        try:
            page = PageSubscriber(self.scope["user"], session_id, self._after(), self._credential(), self._language())
            async with aclosing(page.messages()) as batches:
                async for batch in batches:
                    for message in batch:
                        await self.send(message)
        except SignedOut:
            await self.close(NOT_SIGNED_IN)
        except SessionGone:
            await self.close(NOT_VISIBLE)
        except Exception as error:
            if not isinstance(error, broadcast.unreachable()):
                logger.exception("following session %s failed", session_id)
            await self.close(FAULT)

    def _credential(self) -> Credential:
        """Return the login as a credential.

        Raises: SignedOut.
        """
        user = self.scope["user"]
        if not user.is_authenticated:
            raise SignedOut()
        check = partial(require_signed_in, self.scope)
        return Credential(user_id=user.pk, login=self.scope["session"].session_key, check=check)

    def _after(self) -> int:
        value = self._query_value("after")
        return int(value) if value.isdecimal() and len(value) < 10 else 0

    def _language(self) -> str:
        value = self._query_value("language")
        return value if value in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE

    def _query_value(self, name: str) -> str:
        return str(parse_qs(self.scope["query_string"].decode("ascii", "replace")).get(name, [""])[0])


websocket_urlpatterns = [path("ws/sessions/<uuid:session_id>/", SessionConsumer.as_asgi())]

"""The receiver of messages to a group: called directly within one process, otherwise through the channel layer."""

import asyncio
from collections.abc import Callable
from typing import Any

from channels.layers import get_channel_layer

from tasks_app.runtime import broadcast
from tasks_app.runtime.pump import pump

Message = dict[str, Any]


class Listener:
    """A member of a group, used on the event loop.

    `on_message` is called with each message, `on_error` with exceptions of `on_message` and of the channel layer.
    """

    def __init__(
        self, group: str, on_message: Callable[[Message], None], on_error: Callable[[Exception], None]
    ) -> None:
        self._group, self._on_message, self._on_error = group, on_message, on_error
        self._receiving: asyncio.Task[Any] | None = None
        self.channel = ""

    async def join(self) -> None:
        """Join the group. Messages wait from now on until `start()`, so none is missed."""
        layer = get_channel_layer()
        assert layer is not None
        self._layer, self.channel = layer, await layer.new_channel()
        await layer.group_add(self._group, self.channel)
        pump.start()

    def start(self) -> None:
        if isinstance(self._layer, broadcast.InProcessLayer):
            self._layer.listen(self.channel, self._hear)
        else:
            self._receiving = asyncio.create_task(self._receive())

    async def leave(self) -> None:
        if not self.channel:
            return
        if not isinstance(self._layer, broadcast.InProcessLayer):
            await self._end_receiving()
        await self._layer.group_discard(self._group, self.channel)

    async def _end_receiving(self) -> None:
        """Stop receiving. Redis frees a channel only when a waiting receiver is cancelled, so there must be one."""
        if self._receiving is None or self._receiving.done():
            self._receiving = asyncio.create_task(self._layer.receive(self.channel))
        await asyncio.sleep(0)
        self._receiving.cancel()
        await asyncio.gather(self._receiving, return_exceptions=True)

    async def _receive(self) -> None:
        """Receive with one task for the whole time: layers take a cancelled receive for the end of the consumer."""
        try:
            while True:
                self._on_message(await self._layer.receive(self.channel))
        except Exception as error:  # noqa: BLE001  passed on
            self._on_error(error)

    def _hear(self, message: Message) -> None:
        try:
            self._on_message(message)
        except Exception as error:  # noqa: BLE001  passed on
            self._on_error(error)

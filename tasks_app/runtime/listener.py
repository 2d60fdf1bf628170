"""Hears what is sent to a group: at once in one process, else as it is received."""

import asyncio
from collections.abc import Callable
from typing import Any

from channels.layers import get_channel_layer

from tasks_app.runtime import broadcast
from tasks_app.runtime.pump import pump

Message = dict[str, Any]


class Listener:
    """Used on the event loop. `hear` is called with each message, `failed` with what it or the channel layer raises."""

    def __init__(self, group: str, hear: Callable[[Message], None], failed: Callable[[Exception], None]) -> None:
        self._group, self._take, self._failed = group, hear, failed
        self._receiving: asyncio.Task[Any] | None = None
        self.channel = ""

    async def join(self) -> None:
        """From now on nothing is missed: what is sent waits until it `listens`."""
        layer = get_channel_layer()
        assert layer is not None
        self._layer, self.channel = layer, await layer.new_channel()
        await layer.group_add(self._group, self.channel)
        pump.go_on()

    def listens(self) -> None:
        if isinstance(self._layer, broadcast.OneProcess):
            self._layer.listen(self.channel, self._hear)
        else:
            self._receiving = asyncio.create_task(self._receive())

    async def leave(self) -> None:
        if not self.channel:
            return
        if not isinstance(self._layer, broadcast.OneProcess):
            await self._end_receiving()
        await self._layer.group_discard(self._group, self.channel)

    async def _end_receiving(self) -> None:
        """Redis frees a channel where a receiver is cancelled that waits: so there is one in any case."""
        if self._receiving is None or self._receiving.done():
            self._receiving = asyncio.create_task(self._layer.receive(self.channel))
        await asyncio.sleep(0)
        self._receiving.cancel()
        await asyncio.gather(self._receiving, return_exceptions=True)

    async def _receive(self) -> None:
        """One receiver for the whole time: layers take a cancelled receive for the end of the consumer."""
        try:
            while True:
                self._take(await self._layer.receive(self.channel))
        except Exception as error:  # noqa: BLE001  it is told
            self._failed(error)

    def _hear(self, message: Message) -> None:
        try:
            self._take(message)
        except Exception as error:  # noqa: BLE001  it is told
            self._failed(error)

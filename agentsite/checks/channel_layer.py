"""The channel layer, which carries what happens to the pages that show it."""

import asyncio

from channels.layers import get_channel_layer

from agentsite.checks.messages import Finding, broken, fine
from tasks_app.events import event_loop

_NAME = "channel layer"
_SECONDS = 3


def round_trip() -> Finding:
    """Sends a message to itself."""
    try:
        event_loop.submit(asyncio.wait_for(_send_and_receive(), _SECONDS)).result()
    except Exception as error:  # noqa: BLE001  each layer has errors of its own
        return broken(_NAME, f"A message was not delivered: {type(error).__name__}.", "Check REDIS_URL and Redis.")
    return fine(_NAME, "A message went round.")


async def _send_and_receive() -> None:
    layer = get_channel_layer()
    assert layer is not None
    channel = await layer.new_channel()
    await layer.group_add("doctor", channel)
    try:
        await layer.group_send("doctor", {"type": "doctor"})
        await layer.receive(channel)
    finally:
        await layer.group_discard("doctor", channel)

"""The verbs of people and programs. Pages, REST and commands call the same ones; each is one short transaction."""

from tasks_app.services.messages import (
    Delivered,
    Delivery,
    change_session,
    create_session,
    decide,
    delete_session,
    post_message,
    reply,
    stop,
)

__all__ = [
    "Delivered",
    "Delivery",
    "change_session",
    "create_session",
    "decide",
    "delete_session",
    "post_message",
    "reply",
    "stop",
]

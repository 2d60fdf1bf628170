"""Operations of people and programs, shared by pages, REST and commands. Each one is a short transaction."""

from tasks_app.services.answers import decide, reply
from tasks_app.services.messages import Delivered, Delivery, change_message, delete_message, post_message, stop
from tasks_app.services.projects import change_project, create_project, delete_project, move_session
from tasks_app.services.sessions import change_session, create_session, delete_session

__all__ = [
    "Delivered",
    "Delivery",
    "change_message",
    "change_project",
    "change_session",
    "create_project",
    "create_session",
    "decide",
    "delete_message",
    "delete_project",
    "delete_session",
    "move_session",
    "post_message",
    "reply",
    "stop",
]

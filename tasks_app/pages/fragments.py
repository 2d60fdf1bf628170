"""The pieces of a session's page: rendered the same when it loads, when something happens, and after a reconnect."""

from functools import partial
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from tasks_app.access import may_see_llm_calls, may_write
from tasks_app.models import ContextEntry, InboxMessage, Session
from tasks_app.pages import file_tree
from tasks_app.transcript import transcript
from tasks_app.transcript.item import Item

LIVE = ("state", "here", "said", "actions", "waiting", "plan", "spent")  # what moves with a task


def viewing(session: Session, viewer: Any) -> dict[str, Any]:
    """What every piece is rendered from; asked anew each time, because rights may change while a page is open."""
    sees_calls = partial(may_see_llm_calls, viewer)  # asked only where there is one
    rights = {"may_write": may_write(viewer, session), "may_see_llm_calls": sees_calls}
    return {"session": session, "viewer": viewer, **rights}


def now(session: Session, viewer: Any) -> dict[str, Any]:
    """What the live pieces are rendered from, at this moment."""
    waiting = InboxMessage.objects.waiting_in(session).select_related("author")
    return {**viewing(session, viewer), "task": session.tasks.first(), "waiting": waiting}


def live(session: Session, viewer: Any, seq: int) -> dict[str, SafeString]:
    """The pieces that move with the task, by name; among them the newest call, whose looks follow the task's state.

    A page that has the entries up to `seq` gets nothing of later ones: those come in their order.
    """
    context = {**now(session, viewer), "oob": True}
    pieces = {name: _rendered(f"chat/_{name}.html", context) for name in LIVE}
    if (item := transcript.newest_call(session)) and item.seq <= seq:
        pieces["item"] = _rendered("chat/_entry.html", {**context, "item": item})
    return pieces


def files(session: Session, viewer: Any, *, oob: bool = False) -> SafeString:
    """`oob` says that it comes beside something else, and finds its place by its id."""
    context = {**viewing(session, viewer), "tree": file_tree.tree_of(session), "oob": oob}
    return _rendered("chat/_files.html", context)


def entry(item: Item, viewer: Any, *, oob: bool = False) -> SafeString:
    return _rendered("chat/_entry.html", {**viewing(item.entry.session, viewer), "item": item, "oob": oob})


def pushed(appended: ContextEntry, viewer: Any) -> SafeString:
    """What a page needs when an entry is appended: a new item, or its call's item in place of the old one."""
    item = transcript.item_of(appended)
    context = {**viewing(appended.session, viewer), "item": item, "is_new": item.entry == appended}
    return _rendered("chat/_pushed.html", context)


def _rendered(template: str, context: dict[str, Any]) -> SafeString:
    """Without a request: htmx sends the CSRF token of the page, so forms in fragments need none."""
    return render_to_string(template, {**context, "csrf_token": "NOTPROVIDED"})

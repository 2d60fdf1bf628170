"""Fragments of a session's page, rendered the same on load, in live updates and after a reconnect."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.safestring import SafeString

from tasks_app.access import may_see_llm_calls, may_write
from tasks_app.models import InboxMessage, Session
from tasks_app.pages import file_tree
from tasks_app.record.activity import Activity
from tasks_app.record.item import Item
from tasks_app.runtime import admission

ItemPosition = Literal["old", "message", "group", "member"]  # a step begins a group or joins the newest one

_DEFAULTS = {"oob": False, "whole": False}  # looking up a missing name in a template is slow


@dataclass(frozen=True)
class Viewer:
    """The user who looks at a session's page, with their rights and the page's language.

    `is_starter` says that the user started the newest task. A user may have pages in several languages.
    """

    user: Any
    may_write: bool
    is_starter: bool
    language: str = settings.LANGUAGE_CODE


class Fragment:
    """A template rendered once for all viewers with the same rights and language.

    A template that asks for the viewer, or for another right of theirs, is rendered for each viewer. So no viewer gets
    HTML that was rendered for another.
    """

    def __init__(self, template: str, **context: Any) -> None:
        self._template, self._context = template, context
        self._shared: dict[tuple[object, ...], SafeString] = {}
        self._own: dict[Viewer, SafeString] = {}

    def render_for(self, viewer: Viewer) -> SafeString:
        """Return the HTML for a viewer. The first call may query the database."""
        key = (viewer.may_write, viewer.is_starter, viewer.user.is_staff, viewer.language)
        html = self._shared.get(key, self._own.get(viewer))
        if html is not None:
            return html
        viewer_context = _ViewerContext(viewer.user)
        rights = {"may_write": viewer.may_write, "is_starter": viewer.is_starter, "is_staff": viewer.user.is_staff}
        context = self._context | rights | viewer_context.context
        with translation.override(viewer.language):
            html = _render(self._template, context)
        if viewer_context.is_used:
            self._own[viewer] = html
        else:
            self._shared[key] = html
        return html


class _ViewerContext:
    """Context values about the viewer, as functions. Templates call the ones that they name, which sets `is_used`."""

    def __init__(self, user: Any) -> None:
        self._user = user
        self.is_used = False

    @property
    def context(self) -> dict[str, Callable[[], Any]]:
        return {"viewer": self._viewer, "may_see_llm_calls": self._sees_calls}

    def _viewer(self) -> Any:
        self.is_used = True
        return self._user

    def _sees_calls(self) -> bool:
        self.is_used = True
        return may_see_llm_calls(self._user)


def viewing(session: Session, viewer: Any) -> dict[str, Any]:
    """Return the context of every fragment. Rights are read again each time: they may change while a page is open."""
    sees_calls = partial(may_see_llm_calls, viewer)  # called only by templates that show calls
    rights = {"may_write": may_write(viewer, session), "may_see_llm_calls": sees_calls}
    return {"session": session, "viewer": viewer, "is_staff": viewer.is_staff, **rights}


def now(session: Session, viewer: Any) -> dict[str, Any]:
    """Return the context of the live fragments."""
    task, waiting = session.tasks.first(), InboxMessage.objects.waiting_in(session).select_related("author")
    return {
        **viewing(session, viewer),
        "task": task,
        "is_starter": task is not None and task.started_by_id == viewer.pk,
        "queue_position": admission.position_of(task) if task else None,
        "waiting": waiting,
    }


def files(session: Session, viewer: Any, *, oob: bool = False) -> SafeString:
    """Return the files panel. `oob` marks it for an out-of-band swap by htmx."""
    context = {**viewing(session, viewer), "tree": file_tree.tree_of(session), "oob": oob}
    return _render("chat/_files.html", context)


def folder(session: Session, viewer: Any, path: str) -> SafeString:
    """Return the contents of one folder, which a page fetches when the folder is opened."""
    return _render("chat/_nodes.html", {**viewing(session, viewer), "folder": file_tree.folder_of(session, path)})


def entry(item: Item, viewer: Any, *, oob: bool = False) -> SafeString:
    return _render("chat/_entry.html", {**viewing(item.entry.session, viewer), "item": item, "oob": oob})


class ItemUpdate(NamedTuple):
    """An item to append, or to replace in the page. With an `activity`, the line of its group is replaced too."""

    item: Item
    position: ItemPosition
    activity: Activity | None


def item_updates(session: Session, updates: Sequence[ItemUpdate]) -> Fragment:
    """Return the fragment of appended and replaced items."""
    return Fragment("chat/_pushed.html", session=session, updates=updates, **_DEFAULTS)


def _render(template: str, context: dict[str, Any]) -> SafeString:
    """Render without a request. Forms in fragments need no CSRF token, as htmx sends the token of the page."""
    return render_to_string(template, {**context, "csrf_token": "NOTPROVIDED"})

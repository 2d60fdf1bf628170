"""The pieces of a session's page: rendered the same when it loads, when something happens, and after a reconnect."""

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

_DEFAULTS = {"oob": False, "whole": False}  # a template takes long to find that it was not given a name


@dataclass(frozen=True)
class Viewer:
    """Who looks at a session's page, with what they may do there; `is_starter`: its newest task is theirs.

    `language` is that of the page: a person may have two.
    """

    user: Any
    may_write: bool
    is_starter: bool
    language: str = settings.LANGUAGE_CODE


class Fragment:
    """A template as its viewers see it: rendered once for all who have the same rights and language.

    A template that asks who the viewer is, or for a right of theirs beyond these three, is rendered for each of them.
    So nobody is shown what was rendered for others, whatever a template says.
    """

    def __init__(self, template: str, **context: Any) -> None:
        self._template, self._context = template, context
        self._shared: dict[tuple[object, ...], SafeString] = {}
        self._own: dict[Viewer, SafeString] = {}

    def render_for(self, viewer: Viewer) -> SafeString:
        """Asks the database, the first time."""
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
    """What templates are given as functions, which they call when they name them: so it is known if one did."""

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
    """What every piece is rendered from; asked anew each time, because rights may change while a page is open."""
    sees_calls = partial(may_see_llm_calls, viewer)  # asked only where there is one
    rights = {"may_write": may_write(viewer, session), "may_see_llm_calls": sees_calls}
    return {"session": session, "viewer": viewer, "is_staff": viewer.is_staff, **rights}


def now(session: Session, viewer: Any) -> dict[str, Any]:
    """What the live pieces are rendered from, at this moment."""
    task, waiting = session.tasks.first(), InboxMessage.objects.waiting_in(session).select_related("author")
    return {
        **viewing(session, viewer),
        "task": task,
        "is_starter": task is not None and task.started_by_id == viewer.pk,
        "queue_position": admission.position_of(task) if task else None,
        "waiting": waiting,
    }


def files(session: Session, viewer: Any, *, oob: bool = False) -> SafeString:
    """`oob` says that it comes beside something else, and finds its place by its id."""
    context = {**viewing(session, viewer), "tree": file_tree.tree_of(session), "oob": oob}
    return _render("chat/_files.html", context)


def folder(session: Session, viewer: Any, path: str) -> SafeString:
    """Return what is in one folder of the tree, which a page asks for when it is opened."""
    return _render("chat/_nodes.html", {**viewing(session, viewer), "folder": file_tree.folder_of(session, path)})


def entry(item: Item, viewer: Any, *, oob: bool = False) -> SafeString:
    return _render("chat/_entry.html", {**viewing(item.entry.session, viewer), "item": item, "oob": oob})


class ItemUpdate(NamedTuple):
    """A new item, or one in place of the old one. With an `activity`, the line of its group is replaced."""

    item: Item
    position: ItemPosition
    activity: Activity | None


def item_updates(session: Session, updates: Sequence[ItemUpdate]) -> Fragment:
    """What a page needs when entries are appended."""
    return Fragment("chat/_pushed.html", session=session, updates=updates, **_DEFAULTS)


def _render(template: str, context: dict[str, Any]) -> SafeString:
    """Without a request: htmx sends the CSRF token of the page, so forms in fragments need none."""
    return render_to_string(template, {**context, "csrf_token": "NOTPROVIDED"})

"""Lists of sessions (sidebar, search), and actions to name, tag, pin, archive, export and import sessions."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import chain, groupby
from typing import IO, Any, cast
from uuid import UUID

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import trigger_client_event

from llm_app.sql import cached_sql, fetch_all
from tasks_app import services
from tasks_app.access import Request, may_write, posted, signed_in, visible_session
from tasks_app.models import (
    Filing,
    ImpossibleSearch,
    Project,
    Session,
    SessionSearch,
    file_session,
    format_tags,
    with_filing,
)
from tasks_app.models.errors import Refusal
from tasks_app.models.session import parse_words
from tasks_app.pages.markdown import first_words
from tasks_app.pages.responses import done, refused
from tasks_app.services import transfer
from tasks_app.services.found_lines import matching_line
from tasks_app.text.foreign_chats import MOST_BYTES, MOST_CHATS
from tasks_app.text.highlight import count_matches, highlighted
from tasks_app.workspace.downloads import text_download

BESIDE = 10  # sessions in the sidebar. More would make the first load exceed 100 kB
MOST_PINNED = 10
PROJECTS_BESIDE = 5
ON_PAGE = 40
FOUND = 20  # search results while the user types
FOUND_LINE_CHARS = 160  # characters of the line that contains the searched words
CHANGED = "sessions-changed"  # the event on which a page reloads its lists
_FIELDS_OF_VERBS = {  # fields that a button of the sheet sets
    "pin": {"is_pinned": True},
    "unpin": {"is_pinned": False},
    "archive": {"is_archived": True},
    "unarchive": {"is_archived": False},
}


@cached_sql
def sidebar_projects(user: Any) -> list[Project]:
    """Return the projects of the sidebar, newest first."""
    return fetch_all(Project.objects.visible_to(user).order_by("-changed_at")[:PROJECTS_BESIDE])


@dataclass(frozen=True)
class SessionGroup:
    """Sessions of the same period, with the period's name."""

    name: str
    sessions: list[Any]


def sidebar_groups(user: Any, current: Session | None = None) -> list[SessionGroup]:
    """Return the groups of the sidebar: pinned sessions, the newest ones, and the open one.

    Sessions that others started in a project are listed only on the project's page.
    """
    sessions = [*_pinned(user), *_newest_unpinned(user)]
    if current is not None and current not in sessions:
        sessions += _listed_session(user, current.pk)
    return grouped(sessions)


def _mine(user: Any) -> Any:
    return (
        with_filing(Session.objects.visible_to(user).started_by_people(), user)
        .with_newest_task()
        .select_related("owner")
    )


def not_archived(user: Any) -> Any:
    """Return the sessions that are not archived, newest first."""
    return _mine(user).exclude(is_archived=True)


@cached_sql
def _pinned(user: Any) -> list[Session]:
    return fetch_all(not_archived(user).filter(is_pinned=True)[:MOST_PINNED])


@cached_sql
def _newest_unpinned(user: Any) -> list[Session]:
    own = Q(owner=user) | Q(project=None)
    return fetch_all(not_archived(user).filter(own, is_pinned=False)[:BESIDE])


@cached_sql
def _listed_session(user: Any, pk: UUID) -> list[Session]:
    return fetch_all(_mine(user).filter(pk=pk))


@cached_sql
def _project_keys(user: Any) -> list[UUID]:
    return fetch_all(Project.objects.visible_to(user).order_by().values_list("pk", flat=True))


def grouped(sessions: Iterable[Any]) -> list[SessionGroup]:
    """Group sessions: pinned ones first, then by the day, week or month of the last change."""
    today = timezone.localdate()
    ordered = sorted(sessions, key=lambda session: not session.is_pinned)
    names = groupby(ordered, key=lambda session: _("Pinned") if session.is_pinned else _period_name(session, today))
    return [SessionGroup(name, list(members)) for name, members in names]


def _period_name(session: Session, today: date) -> str:
    day = timezone.localdate(session.updated_at)
    for name, days in ((_("Today"), 0), (_("Yesterday"), 1), (_("Last 7 days"), 7), (_("Last 30 days"), 30)):
        if day >= today - timedelta(days=days):
            return name
    return date_format(day, _("F Y"))


@signed_in
def show(request: Request) -> HttpResponse:
    """Show all sessions, or the search results for `q`, on page `page` (from 1).

    Some requests of htmx get only the first search results, or the sidebar.
    """
    query = request.GET.get("q", "").replace("\0", "").strip()[:500]
    if request.htmx and "find" in request.GET:
        return _show_suggestions(request, query)
    if request.htmx and "beside" in request.GET:
        session = _open_session(request)
        fresh = {"groups": sidebar_groups(request.user, session), "projects": sidebar_projects(request.user)}
        return render(request, "sessions/_beside.html", {**fresh, "session": session, "is_again": True})
    number = request.GET.get("page", "1")
    page = int(number) if number.isdecimal() and len(number) < 6 and int(number) else 1
    try:
        problem = ""
        if page == 1 and not query:
            sessions = _first_page(request.user)  # its SQL is cached
        else:
            sessions = list(_found(request.user, query)[(page - 1) * ON_PAGE : page * ON_PAGE + 1])
        _set_found_lines(sessions[:ON_PAGE], SessionSearch.parse(query).words)
    except ImpossibleSearch as error:
        sessions, problem = [], str(error)
    context = {
        "problem": problem,
        "groups": grouped(sessions[:ON_PAGE]),
        "query": query,
        "page": page,
        "next": page + 1 if len(sessions) > ON_PAGE else None,
        "my_projects": set(_project_keys(request.user)),
    }
    if request.htmx:
        return render(request, "sessions/_list.html", context)
    return render(request, "sessions/sessions.html", context | {"tags": Filing.objects.tags_of(request.user)})


def _set_found_lines(sessions: Iterable[Any], words: str) -> None:
    """Set `found_line` of each session to parts of the line with the searched words.

    Markdown is removed from the line unless that would lose a word.
    """
    word_terms = parse_words(words)
    for session in sessions if word_terms else ():
        search_words = [word for word, _ in word_terms]
        line = matching_line(session, word_terms)
        plain = first_words(line)
        line = plain if count_matches(plain, search_words) == count_matches(line, search_words) else line
        session.found_line = highlighted(line, search_words, FOUND_LINE_CHARS) if line else []


def _show_suggestions(request: Request, query: str) -> HttpResponse:
    try:
        sessions, problem = _suggestions(request.user, query) if query else [], ""
    except ImpossibleSearch as error:
        sessions, problem = [], str(error)
    return render(request, "sessions/_found.html", {"groups": grouped(sessions), "query": query, "problem": problem})


def _found(user: Any, query: str) -> Any:
    """Return the search results among all sessions, or without a query the sessions that are not archived."""
    sessions = SessionSearch.parse(query).apply(Session.objects.visible_to(user).started_by_people(), user)
    return _listed(sessions if query else sessions.exclude(is_archived=True))


def _listed(sessions: Any) -> Any:
    return sessions.with_newest_task().select_related("owner", "project").order_by("-updated_at")


@cached_sql
def _first_page(user: Any) -> list[Session]:
    return fetch_all(_found(user, "")[: ON_PAGE + 1])


def _suggestions(user: Any, query: str) -> Iterable[Any]:
    """Return the first search results. SQL of a search for words alone is cached by the number of words."""
    search = SessionSearch.parse(query)
    if not search.has_only_words:
        return list(_found(user, query)[:FOUND])
    words = parse_words(search.words)
    return _first_matching(user, *chain.from_iterable((word, index_query or None) for word, index_query in words))


@cached_sql
def _first_matching(user: Any, *values: Any) -> list[Session]:
    """Return the first sessions for words and their index queries. A word without terms has None as its query."""
    words = list(zip(values[::2], values[1::2], strict=True))
    mine = Session.objects.visible_to(user).started_by_people().matching(words)
    return fetch_all(_listed(with_filing(mine, user))[:FOUND])


@signed_in
def manage(request: Request, session_id: UUID) -> HttpResponse:
    """Show what can be done to a session, as a page or as a sheet for htmx."""
    session = visible_session(request.user, session_id)
    if request.method == "POST":
        return _change(request, session)
    filing = Filing.objects.filter(session=session, user=request.user).first()
    context = {
        "session": session,
        "filing": filing,
        "may_write": may_write(request.user, session),
        "base": "sessions/_sheet.html" if request.htmx else "base.html",
    }
    return render(request, "sessions/manage.html", context)


def _change(request: Request, session: Session) -> HttpResponse:
    title = " ".join(posted(request, "title").split())
    if title and title != session.title and may_write(request.user, session):
        services.change_session(session, title=title)
    file_session(session, request.user, tags=format_tags([posted(request, "tags")]))
    return trigger_client_event(done(request, "sessions", _("Saved.")), CHANGED)


@signed_in
@require_POST
def file(request: Request, session_id: UUID) -> HttpResponse:
    """Pin, unpin, archive or unarchive, by `verb`. After archiving, the toast offers to undo it."""
    session = visible_session(request.user, session_id)
    verb = posted(request, "verb")
    if verb not in _FIELDS_OF_VERBS:
        raise Http404()
    file_session(session, request.user, **_FIELDS_OF_VERBS[verb])
    if not request.htmx:
        return redirect("sessions")
    messages_of_verbs = {
        "pin": _("Pinned."),
        "unpin": _("Unpinned."),
        "archive": _("Archived."),
        "unarchive": _("Not archived."),
    }
    context = {"text": messages_of_verbs[verb], "session": session, "can_undo": verb == "archive"}
    return trigger_client_event(render(request, "sessions/_toast.html", context), CHANGED)


@signed_in
@require_GET
def export(request: Request, session_id: UUID) -> HttpResponse:
    return text_download(*transfer.export(visible_session(request.user, session_id), request.GET.get("kind", "")))


@signed_in
def import_(request: Request) -> HttpResponse:
    """Import the conversations in a file of another program, and list the imported sessions."""
    if request.method != "POST":
        return render(
            request, "sessions/import.html", {"most": MOST_CHATS, "most_messages": transfer.MAX_IMPORTED_MESSAGES}
        )
    try:
        if (file := request.FILES.get("file")) is None or (file.size or 0) > MOST_BYTES:
            raise transfer.NoExport()
        with transfer.prepared_import(request.user, cast(IO[bytes], file)) as store:
            imported = store()
    except Refusal as error:
        return refused(request, "session_import", error)
    messages.success(request, _("Imported: %(count)d") % {"count": len(imported.sessions)})
    if imported.left_out:
        warning = _("Older conversations left out: %(count)d. Import them from a file of their own.")
        messages.warning(request, warning % {"count": imported.left_out})
    return redirect(f"{reverse('sessions')}?q=tag:{transfer.TAG}")


def _open_session(request: Request) -> Session | None:
    """Return the session whose page the browser shows."""
    path = str(getattr(request.htmx, "current_url_abs_path", "") or "").partition("?")[0]
    try:
        session_id = resolve(path).kwargs.get("session_id")
    except Resolver404:
        return None
    return Session.objects.visible_to(request.user).filter(pk=session_id).first() if session_id else None

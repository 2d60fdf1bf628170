"""Sharing of sessions and projects with people, roles, and readers without an account."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.core.cache import caches
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from tasks_app import origins
from tasks_app.access import Request, owned_project, owned_session, posted, signed_in
from tasks_app.models import Session, ShareLink
from tasks_app.models.errors import Refusal
from tasks_app.pages.responses import refused
from tasks_app.services import sharing, transfer

MAX_WRONG_LINKS = 60  # wrong links from one IP address in a minute


@signed_in
def share(request: Request, session_id: UUID) -> HttpResponse:
    """Show or change who can read a session, for its owner. A new link is shown once."""
    session, new_link = owned_session(request.user, session_id), ""
    page_url = reverse("session_share", args=[session.pk])
    if request.method == "POST":
        try:
            if not change_members(request, session):
                new_link = _change_links(request, session)
        except Refusal as error:
            return refused(request, page_url, error)
        if not (request.htmx or new_link):
            return redirect(page_url)
    links = {"links": ShareLink.objects.filter(session=session), "days": sharing.DAYS, "new_link": new_link}
    return _render_page(request, session, page_url, {"session": session, **links})


@signed_in
def share_project(request: Request, project_id: UUID) -> HttpResponse:
    """Show or change the members of a project, for its owner."""
    project = owned_project(request.user, project_id)
    page_url = reverse("project_share", args=[project.pk])
    if request.method == "POST":
        try:
            if not change_members(request, project):
                raise Http404()
            project.publish_change()
        except Refusal as error:
            return refused(request, page_url, error)
        if not request.htmx:
            return redirect(page_url)
    return _render_page(request, project, page_url, {"project": project})


def _render_page(request: Request, shared: Any, page_url: str, more: dict[str, Any]) -> HttpResponse:
    context = {
        "shared": shared,
        "here": page_url,
        "members": shared.memberships.select_related("user", "role").order_by("pk"),
        "roles": sharing.roles_open_to(request.user),
        "in_sheet": bool(request.htmx),
        "base": "sessions/_sheet.html" if request.htmx else "base.html",
    }
    return render(request, "sessions/share.html", context | more)


def change_members(request: Request, shared: Any) -> bool:
    """Add or remove a member. Return False if the form is about something else.

    Raises: Refusal.
    """
    match posted(request, "do"):
        case "add":
            member = {name: posted(request, name) for name in ("person", "role")}
            sharing.add_member(request.user, shared, **member, may_write=posted(request, "rights") == "write")
        case "remove":
            shared.memberships.filter(pk=_posted_id(request)).delete()
        case _:
            return False
    return True


def _change_links(request: Request, session: Session) -> str:
    """Create or revoke a link. Return the address of a new link, or ''.

    Raises: TooManyLinks, Http404.
    """
    match posted(request, "do"):
        case "link":
            days = posted(request, "days")
            token = sharing.make_link(session, int(days) if days in map(str, sharing.DAYS) else sharing.DAYS[0])
            return origins.public_address(request, reverse("shared", args=[token]))
        case "revoke":
            session.links.filter(pk=_posted_id(request)).delete()
            return ""
        case _:
            raise Http404()


def _posted_id(request: Request) -> int:
    number = posted(request, "id")
    return int(number) if number.isdecimal() and len(number) < 18 else 0


def _reject_link(request: HttpRequest) -> HttpResponse:
    """Count a wrong link, and answer 429 after too many. Valid links still open: their readers may share an address.

    Raises: Http404.
    """
    address = f"shared-{request.META.get('REMOTE_ADDR', '')}"
    attempts = caches["tries"]  # works without Redis, too
    if attempts.get(address, 0) >= MAX_WRONG_LINKS:
        return HttpResponse(_("Too many attempts. Try again in a minute."), status=429, headers={"Retry-After": "60"})
    attempts.add(address, 0, 60)
    with suppress(ValueError):  # the key expired in between
        attempts.incr(address)
    raise Http404()


@never_cache
@require_GET
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """Show a session's messages, redacted and paged, to anyone who has the link. Search engines must not index it."""
    link = ShareLink.objects.valid_with_token(token)
    if link is None:
        return _reject_link(request)
    session, after = link.session, request.GET.get("after", "")
    chat_messages, later = transfer.messages_page(session, int(after) if after.isdecimal() and len(after) < 10 else 0)
    context = {
        "title": transfer.redacted_title(session),
        "said": chat_messages,
        "after": after,
        "later": later,
        "link": link,
    }
    response = render(request, "sessions/shared.html", context)
    response["X-Robots-Tag"], response["Referrer-Policy"] = "noindex, nofollow", "no-referrer"
    return response

"""Who else reads a session, or writes in it: people and roles, and links for readers without an account."""

from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from tasks_app.access import Request, owned_session, posted, signed_in
from tasks_app.errors import Refusal
from tasks_app.models import Session, SessionMember, ShareLink
from tasks_app.pages.responses import refused
from tasks_app.services import transfer

DAYS = (7, 30, 90)
MOST_LINKS = 20
TRIES = 60  # of links that open nothing, from one address in a minute


class NobodyOfThatName(Refusal):
    """There is no other person or role of yours with this name. Check the spelling."""

    status = 422


class TooManyLinks(Refusal):
    """This session has as many links as it may have. Revoke one first."""


@signed_in
def share(request: Request, session_id: UUID) -> HttpResponse:
    """The owner's alone. Shows a new link once; without scripts it is a page of its own."""
    session = owned_session(request.user, session_id)
    new_link = ""
    if request.method == "POST":
        try:
            new_link = _change(request, session)
        except Refusal as error:
            return refused(request, redirect("session_share", session.pk).url, error)
        if not (request.htmx or new_link):
            return redirect("session_share", session.pk)
    context = {
        "session": session,
        "members": session.memberships.select_related("user", "role").order_by("pk"),
        "roles": _roles(request.user),
        "links": ShareLink.objects.filter(session=session),
        "days": DAYS,
        "new_link": new_link,
        "in_sheet": bool(request.htmx),
        "base": "sessions/_sheet.html" if request.htmx else "base.html",
    }
    return render(request, "sessions/share.html", context)


def _change(request: Request, session: Session) -> str:
    """Does what the form says; the address of a new link. Raises Refusal."""
    match posted(request, "do"):
        case "add":
            role = _chosen_role(request)
            who: dict[str, Any] = {"role": role} if role else {"user": _chosen_person(request)}
            rights = {"may_write": posted(request, "rights") == "write"}
            SessionMember.objects.update_or_create(defaults=rights, session=session, **who)
        case "remove":
            session.memberships.filter(pk=_number(request)).delete()
        case "link":
            return _made(request, session)
        case "revoke":
            session.links.filter(pk=_number(request)).delete()
        case _:
            raise Http404()
    return ""


def _made(request: Request, session: Session) -> str:
    if session.links.count() >= MOST_LINKS:
        raise TooManyLinks()
    days = posted(request, "days")
    token = ShareLink.objects.make(session, int(days) if days in map(str, DAYS) else DAYS[0])
    return request.build_absolute_uri(reverse("shared", args=[token]))


def _number(request: Request) -> int:
    number = posted(request, "id")
    return int(number) if number.isdecimal() and len(number) < 18 else 0


def _roles(user: Any) -> Any:
    """Administrators share with each role, others with those that they have."""
    return Group.objects.order_by("name") if user.is_staff else get_user_model().roles_of(user.pk).order_by("name")


def _chosen_role(request: Request) -> Group | None:
    role: Group | None = _roles(request.user).filter(name=posted(request, "role")).first()
    return role


def _chosen_person(request: Request) -> Any:
    people = get_user_model().objects.filter(is_active=True).exclude(pk=request.user.pk)
    found = people.filter(username=posted(request, "person").strip()).first()
    if found is None:
        raise NobodyOfThatName(field="person")
    return found


@never_cache
@require_GET
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """What was said, for whoever has the link: words alone, redacted. No search engine shall keep it."""
    address = f"shared-{request.META.get('REMOTE_ADDR', '')}"
    if cache.get(address, 0) >= TRIES:
        return HttpResponse(_("Too many attempts. Try again in a minute."), status=429, headers={"Retry-After": "60"})
    link = ShareLink.objects.opened_by(token)
    if link is None:
        cache.add(address, 0, 60)
        cache.incr(address)
        raise Http404()
    session = link.session
    context = {"title": transfer.redacted_title(session), "said": transfer.spoken(session), "link": link}
    headers = {"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer"}
    return HttpResponse(render(request, "sessions/shared.html", context), headers=headers)

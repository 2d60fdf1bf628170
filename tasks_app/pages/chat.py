"""A session's page, and its actions: post, answer, decide, stop, change, fork, delete."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect, trigger_client_event

from llm_app.sql import cached_sql, fetch_all
from tasks_app import services
from tasks_app.access import Request, owned_session, posted, signed_in, visible_session, writable_session
from tasks_app.models import Approval, ApprovalScope, Decision, Mode, Project, Session, Task
from tasks_app.models.errors import NothingToAnswer, Refusal
from tasks_app.pages import choices, file_tree, fragments
from tasks_app.pages.responses import done, earlier_submission, is_repeated, refused
from tasks_app.record import transcript
from tasks_app.runtime import admission
from tasks_app.services import diagnosis, forks
from tasks_app.workspace import uploads
from tools_app.errors import ToolError

MOST_FORKS = 20  # listed on a session's page


@dataclass(frozen=True, kw_only=True)
class DecisionForm:
    """The values of an approval's form."""

    decision: str
    note: str
    scope: str

    @classmethod
    def from_request(cls, request: Request) -> "DecisionForm":
        """Return the posted decision.

        Raises: Http404 for values that no form of ours sends.
        """
        decision, _colon, posted_scope = posted(request, "decision").partition(":")  # a button sends both as one value
        scope = posted_scope or posted(request, "scope") or ApprovalScope.ONCE
        if decision not in (Decision.APPROVED, Decision.REJECTED) or scope not in ApprovalScope.values:
            raise Http404()
        return cls(decision=decision, note=posted(request, "note"), scope=scope)


@cached_sql
def _forks_of(user: Any, session: UUID) -> list[Session]:
    return fetch_all(Session.objects.visible_to(user).filter(parent=session).order_by("-created_at")[:MOST_FORKS])


@signed_in
def show(request: Request, session_id: UUID) -> HttpResponse:
    """Show the newest items, or with `?before=SEQ` the items before an entry. Requests of htmx get only the items."""
    session = visible_session(request.user, session_id)
    before = request.GET.get("before", "")
    page = transcript.newest_page(session, before=int(before) if before.isdecimal() and len(before) < 10 else None)
    context = {**fragments.now(session, request.user), "page": page}
    if request.htmx and not request.htmx.history_restore_request:
        return render(request, "chat/_items.html", context)
    context |= choices.form_choices(request.user, session)
    context |= {
        "tree": file_tree.tree_of(session, is_folded="files" not in request.GET, opened=request.GET.get("files", "")),
        "project": Project.objects.find_visible(request.user, session.project_id),
        "parent": Session.objects.find_visible(request.user, session.parent_id),
        "forks": _forks_of(request.user, session.pk),
        "key": uuid4().hex,
    }
    return render(request, "chat/chat.html", context)


@signed_in
@require_GET
def show_reasons(request: Request, session_id: UUID) -> HttpResponse:
    """Show why the newest task does not continue, or what it is doing."""
    session = visible_session(request.user, session_id)
    task = session.tasks.select_related("session__model").order_by("-created_at").first()
    context = {
        "session": session,
        "task": task,
        "reasons": diagnosis.reasons(task) if task else [],
        "queue_position": admission.position_of(task) if task else None,
    }
    return render(request, "reasons.html", context)


@signed_in
@require_GET
def show_step(request: Request, session_id: UUID, seq: int) -> HttpResponse:
    """Return a call's arguments and result, which a page fetches when the call's card is opened."""
    return _render_part(request, session_id, seq, "chat/_call.html", _("A step"))


@signed_in
@require_GET
def show_ways(request: Request, session_id: UUID, seq: int) -> HttpResponse:
    """Return the ways to branch from an entry, and the link to what the model saw."""
    return _render_part(request, session_id, seq, "chat/_ways.html", _("Branch from here"))


def _render_part(request: Request, session_id: UUID, seq: int, part: str, heading: str) -> HttpResponse:
    """Render a part of an item: alone for htmx, otherwise as a page."""
    session = visible_session(request.user, session_id)
    if (item := transcript.item_at(session, seq)) is None:
        raise Http404()
    context = {**fragments.viewing(session, request.user), "item": item, "part": part, "heading": heading}
    return render(request, part if request.htmx else "chat/item.html", context)


@signed_in
def queue(request: Request, session_id: UUID) -> HttpResponse:
    """Return the task's queue position. Pages poll it, as no event reports that other tasks have moved."""
    session = visible_session(request.user, session_id)
    return render(request, "chat/_queue.html", fragments.now(session, request.user))


@signed_in
@require_POST
def post_message(request: Request, session_id: UUID) -> HttpResponse:
    session = writable_session(request.user, session_id)
    try:
        content, workflow = posted(request, "content"), choices.chosen_workflow(request)
        files = [] if is_repeated(request, content) else request.FILES.getlist("files")
        attachments = uploads.attach(session, files)
        mode = posted(request, "mode") if posted(request, "mode") in Mode.values else Mode.INTERJECT
        with transaction.atomic():
            if earlier_submission(request, content) is None:
                services.post_message(session, request.user, content, mode=mode, workflow=workflow, **attachments)
    except (Refusal, ToolError) as error:
        return refused(request, session, error)
    return done(request, f"{session.get_absolute_url()}#end")


@signed_in
@require_POST
def change_message(request: Request, session_id: UUID, message_id: int) -> HttpResponse:
    """Change one's own waiting message, or with `remove` take it back."""
    session = writable_session(request.user, session_id)
    try:
        if posted(request, "remove"):
            services.delete_message(session, request.user, message_id)
        else:
            services.change_message(session, request.user, message_id, posted(request, "content"))
    except Refusal as error:
        return refused(request, session, error)
    return done(request, f"{session.get_absolute_url()}#end")


@signed_in
@require_POST
def stop(request: Request, session_id: UUID) -> HttpResponse:
    session = writable_session(request.user, session_id)
    for task in session.tasks.active():
        services.stop(task)
    return done(request, session)


@signed_in
@require_POST
def reply(request: Request, session_id: UUID) -> HttpResponse:
    """Answer the question that the form showed."""
    session = writable_session(request.user, session_id)
    content, call_id = posted(request, "content"), posted(request, "call")
    return _answer_once(request, session, lambda task: services.reply(task, request.user, content, call_id=call_id))


@signed_in
@require_POST
def decide(request: Request, session_id: UUID) -> HttpResponse:
    """Decide on the call that the form showed. An approver by role needs only read access to the session."""
    user, form, call_id = request.user, DecisionForm.from_request(request), posted(request, "call")
    decidable = Approval.objects.decidable_by(user).filter(tool_call__task__session=session_id)
    session = visible_session(user, session_id) if decidable.exists() else writable_session(user, session_id)
    return _answer_once(request, session, lambda task: services.decide(task, user, call_id=call_id, **vars(form)))


def _answer_once(request: Request, session: Session, answer: Callable[[Task], None]) -> HttpResponse:
    """Answer or decide once. Requests of htmx get the updated item of the call."""
    try:
        if (task := session.tasks.active().first()) is None or not posted(request, "call"):
            raise NothingToAnswer()
        answer(task)
    except Refusal as error:
        return refused(request, session, error, extra_html=_item_html(request, session, oob=True))
    if request.htmx:
        return HttpResponse(_item_html(request, session))
    return redirect(f"{session.get_absolute_url()}#end")


def _item_html(request: Request, session: Session, *, oob: bool = False) -> str:
    item = transcript.call_item(session, posted(request, "call"))
    return fragments.entry(item, request.user, oob=oob) if item else ""


@signed_in
@require_POST
def change(request: Request, session_id: UUID) -> HttpResponse:
    """Change `title`, `model` and `agent`, each if posted. An empty model selects the default model."""
    session = writable_session(request.user, session_id)
    changes: dict[str, object] = {}
    if title := " ".join(posted(request, "title").split()):
        changes["title"] = title[:200]
    if "model" in request.POST:
        changes["model"] = choices.chosen_model(request, session)
    if "agent" in request.POST:
        agent = choices.chosen_agent(request, session.acting_agent)
        if agent != session.acting_agent:
            changes["agent"] = agent
    services.change_session(session, **changes)
    return trigger_client_event(done(request, session), "sessions-changed")


@signed_in
def delete(request: Request, session_id: UUID) -> HttpResponse:
    session = owned_session(request.user, session_id)
    if request.method != "POST":
        subject = _("the session “%(title)s”") % {"title": session}
        return render(request, "question.html", {"session": session, "what": subject, "back": session})
    try:
        services.delete_session(session)
    except Refusal as error:
        return refused(request, session, error)
    return done(request, "home", _("“%(name)s” is deleted.") % {"name": session})


@signed_in
@require_POST
def fork(request: Request, session_id: UUID) -> HttpResponse:
    """Fork the session at entry `seq`. With `again`, send its message again, or the posted `content` in its place."""
    origin = visible_session(request.user, session_id)
    seq = posted(request, "seq")
    if not seq.isdecimal() or len(seq) > 9:
        raise Http404()
    try:
        if posted(request, "again"):
            copy = forks.send_again(origin, int(seq), request.user, posted(request, "content"))
        else:
            copy = forks.fork(origin, int(seq), request.user)
    except (Refusal, ToolError) as error:
        return refused(request, origin, error)
    address = f"{copy.get_absolute_url()}#end"
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)

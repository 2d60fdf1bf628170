"""Changes of a call to the workspace: their diffs, and undoing them."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from tasks_app.access import Request, may_write, signed_in, visible_session, writable_session
from tasks_app.models import Session, WorkspaceChange
from tasks_app.models.errors import Refusal
from tasks_app.pages import fragments
from tasks_app.pages.responses import done, refused
from tasks_app.record import redactor_of
from tasks_app.record.item import Item
from tasks_app.workspace import file_history
from tasks_app.workspace.folders import workspace_of
from tools_app.editing import overwrite_diff
from tools_app.errors import ToolError
from tools_app.files import as_text

MAX_FILES = 50


@signed_in
@require_GET
def show(request: Request, session_id: UUID, change_id: int) -> HttpResponse:
    """Show the diffs of a change, as a fragment of the card or as a page."""
    session = visible_session(request.user, session_id)
    change, redactor = _change(session, change_id), redactor_of(session)
    rows = change.files.select_related("change__session")
    files = [
        {"row": row, "shown": as_text(redactor.redacted(row.path)), "diff": file_history.diff_of(row, redactor)}
        for row in rows[:MAX_FILES]
    ]
    context = {"session": session, "change": change, "files": files, "more": max(0, rows.count() - MAX_FILES)}
    template = "chat/_diffs.html" if request.htmx else "change.html"
    return render(request, template, {**context, "may_write": may_write(request.user, session)})


@signed_in
def undo(request: Request, session_id: UUID, change_id: int) -> HttpResponse:
    """Undo the change, or the one file `path`. Without scripts, a page asks for confirmation."""
    session = writable_session(request.user, session_id)
    change, path = _change(session, change_id), request.GET.get("path", "")
    if request.method != "POST":
        return render(request, "put_back.html", {"session": session, "path": path})
    try:
        redactor = redactor_of(session)
        result = file_history.undo(change, [path] if path else (), redactor)
    except (Refusal, ToolError) as error:
        return refused(request, session, error)
    count = result.change.files.count()
    message = ngettext("%(count)d file put back.", "%(count)d files put back.", count) % {"count": count}
    message = f"{message} {_('The agent is told with its next step.')}"
    if result.unrestored:
        warning = _("Not put back, because the history does not keep them: %(files)s.")
        paths = as_text(redactor.redacted(", ".join(result.unrestored[:3])))
        message = f"{message} {warning % {'files': paths}}"
    return done(request, session, message, extra_html=fragments.files(session, request.user, oob=True))


def proposed_change(item: Item, is_foreign: bool | str = False) -> str:
    """Return the diff that a call of `file` proposes, against the current file if the viewer may see it."""
    arguments = item.exact_arguments if item.call["name"] == "file" else {}
    match arguments.get("action"):
        case "patch":
            return str(arguments["content"])
        case "edit":
            return f"{_prefixed_lines('-', arguments['old'])}\n{_prefixed_lines('+', arguments['new'])}"
        case "append":
            return _prefixed_lines("+", arguments["content"])
        case "write":
            session = item.entry.session
            diff = "" if is_foreign else overwrite_diff(arguments["path"], arguments["content"], workspace_of(session))
            return redactor_of(session).redacted(diff) or _prefixed_lines("+", arguments["content"])
    return ""


def _prefixed_lines(prefix: str, text: str) -> str:
    return "\n".join(f"{prefix}{line}" for line in text.split("\n"))


def _change(session: Session, change_id: int) -> WorkspaceChange:
    change = WorkspaceChange.objects.select_related("session").filter(session=session, pk=change_id).first()
    if change is None:
        raise Http404()
    return change

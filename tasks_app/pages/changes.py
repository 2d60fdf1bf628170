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
from tools_app.editing.changes import overwrite_diff
from tools_app.errors import ToolError
from tools_app.files import as_text

MOST = 50  # files shown


@signed_in
@require_GET
def show(request: Request, session_id: UUID, change_id: int) -> HttpResponse:
    """Show the diffs of a change, as a fragment of the card or as a page."""
    session = visible_session(request.user, session_id)
    change, redactor = _change(session, change_id), redactor_of(session)
    rows = change.files.select_related("change__session")
    files = [
        {"row": row, "shown": as_text(redactor.redacted(row.path)), "diff": file_history.diff_of(row, redactor)}
        for row in rows[:MOST]
    ]
    context = {"session": session, "change": change, "files": files, "more": max(0, rows.count() - MOST)}
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
        undone = file_history.undo(change, [path] if path else (), redactor)
    except (Refusal, ToolError) as error:
        return refused(request, session, error)
    count = undone.change.files.count()
    said = ngettext("%(count)d file put back.", "%(count)d files put back.", count) % {"count": count}
    said = f"{said} {_('The agent is told with its next step.')}"
    if undone.unrestored:
        left = _("Not put back, because the history does not keep them: %(files)s.")
        said = f"{said} {left % {'files': as_text(redactor.redacted(', '.join(undone.unrestored[:3])))}}"
    return done(request, session, said, also=fragments.files(session, request.user, oob=True))


def proposed(item: Item, is_foreign: bool | str = False) -> str:
    """Return the diff that a call of `file` proposes, against the current file if the viewer may see it."""
    given = item.exact_arguments if item.call["name"] == "file" else {}
    match given.get("action"):
        case "patch":
            return str(given["content"])
        case "edit":
            return f"{_marked('-', given['old'])}\n{_marked('+', given['new'])}"
        case "append":
            return _marked("+", given["content"])
        case "write":
            session = item.entry.session
            beside = "" if is_foreign else overwrite_diff(given["path"], given["content"], workspace_of(session))
            return redactor_of(session).redacted(beside) or _marked("+", given["content"])
    return ""


def _marked(mark: str, text: str) -> str:
    return "\n".join(f"{mark}{line}" for line in text.split("\n"))


def _change(session: Session, change_id: int) -> WorkspaceChange:
    change = WorkspaceChange.objects.select_related("session").filter(session=session, pk=change_id).first()
    if change is None:
        raise Http404()
    return change

"""Which models a person may choose."""

from typing import Any

from django.db.models import QuerySet

from llm_app.models import LogicalModel
from tasks_app.access import Request, posted
from tasks_app.models import Session


def choices(user: Any, session: Session | None = None) -> QuerySet[LogicalModel]:
    """Those that are visible to the user, and the one that the session has: a form must not change it by itself."""
    models: QuerySet[LogicalModel] = LogicalModel.objects.visible_to(user.pk)
    if session is not None and session.model_id is not None:
        models |= LogicalModel.objects.filter(pk=session.model_id)
    return models


def chosen(request: Request, session: Session | None = None) -> LogicalModel | None:
    """The one that a form names; none for an empty name, or one that they may not choose: the default then answers."""
    return choices(request.user, session).filter(name=posted(request, "model")).first()

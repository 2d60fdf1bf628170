"""What a form may choose for a session or a task: model, agent and workflow. An unknown name chooses nothing."""

from typing import Any

from django.db.models import QuerySet

from llm_app.models import LogicalModel
from tasks_app.access import Request, posted
from tasks_app.models import Agent, Session, Workflow


def offered(user: Any, session: Session | None = None) -> dict[str, QuerySet[Any]]:
    """For a form's lists."""
    return {
        "models": _models(user, session),
        "agents": Agent.objects.all(),
        "workflows": Workflow.objects.usable(),
    }


def chosen_agent(request: Request) -> Agent | None:
    return Agent.objects.filter(name=posted(request, "agent")).first()


def chosen_workflow(request: Request) -> Workflow | None:
    return Workflow.objects.usable().filter(name=posted(request, "workflow")).first()


def chosen_model(request: Request, session: Session | None = None) -> LogicalModel | None:
    """None for an empty name, or a model that the user may not choose: the default then answers."""
    return _models(request.user, session).filter(name=posted(request, "model")).first()


def _models(user: Any, session: Session | None) -> QuerySet[LogicalModel]:
    """Those that are visible to the user, and the session's own: a form must not change it by itself."""
    models: QuerySet[LogicalModel] = LogicalModel.objects.visible_to(user.pk)
    if session is not None and session.model_id is not None:
        models |= LogicalModel.objects.filter(pk=session.model_id)
    return models

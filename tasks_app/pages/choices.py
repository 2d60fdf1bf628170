"""Models, agents and workflows that a form offers, the choices that it posts, and the gallery of agents."""

from typing import Any

from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render

from llm_app.models import LogicalModel
from llm_app.sql import cached_sql, fetch_all
from tasks_app.access import Request, posted, signed_in
from tasks_app.models import Agent, AgentPicture, Project, Session, Workflow, agent_templates


def form_choices(user: Any, session: Session | None = None, *, agent: Agent | None = None) -> dict[str, Any]:
    """Return the lists of a form. In a form for a new session, `agent` or the default agent is selected."""
    agents = usable_agents(user, session)
    return {
        "models": _models(user.pk, session and session.model_id),
        "agents": agents,
        "start_agent": None if session else agent or next((agent for agent in agents if agent.is_default), None),
        "workflows": _workflows(),
    }


def usable_agents(user: Any, session: Session | None = None) -> list[Agent]:
    """Return the agents that the user may use, and the session's own agent."""
    return _agents(user.pk, session and (session.active_agent_id or session.agent_id))


def agent_named(user: Any, name: str | None) -> Agent | None:
    return next((agent for agent in usable_agents(user) if agent.name == name), None)


@cached_sql
def _agents(user_id: int, own: Any) -> list[Agent]:
    return fetch_all(Agent.objects.usable_by(user_id) | Agent.objects.filter(pk=own))


@cached_sql
def _models(user_id: int, own: Any) -> list[LogicalModel]:
    """Return the models that the user can choose, and the session's own, so that a form does not change it."""
    return fetch_all(LogicalModel.objects.visible_to(user_id) | LogicalModel.objects.filter(pk=own))


@cached_sql
def _workflows() -> list[Workflow]:
    return fetch_all(Workflow.objects.usable())


@signed_in
def gallery(request: Request) -> HttpResponse:
    """Show the agents. Administrators can also create agents from templates here."""
    may_add = request.user.has_perm("tasks_app.add_agent") and request.user.is_staff
    templates = [
        {
            "key": template.key,
            "face": Agent(**{name: template.values[name] for name in ("name", "description", "mark")}),
            "tries": template.tries,
        }
        for template in agent_templates.load_all().values()
    ]
    usable = Agent.objects.usable_by(request.user.pk).select_related("model")
    context = {"agents": usable, "templates": templates if may_add else []}
    may_change = request.user.has_perm("tasks_app.change_agent") and request.user.is_staff
    return render(request, "agents.html", {**context, "may_change": may_change})


def picture(request: Request, agent_id: int) -> HttpResponse:
    """Return an agent's uploaded picture to users who can see the agent. The URL changes with the picture."""
    if not request.user.is_authenticated or not _can_see_agent(request.user, agent_id):
        raise Http404()
    agent_picture = get_object_or_404(AgentPicture, agent=agent_id)
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    return HttpResponse(bytes(agent_picture.png), content_type="image/png", headers=headers)


def _can_see_agent(user: Any, agent_id: int) -> bool:
    if user.is_staff and user.has_perm("tasks_app.view_agent"):
        return True
    is_agent = Q(agent=agent_id) | Q(active_agent=agent_id) | Q(tasks__agent_version__agent=agent_id)
    return (
        Agent.objects.usable_by(user.pk).filter(pk=agent_id).exists()
        or Session.objects.visible_to(user).filter(is_agent).exists()
        or Project.objects.visible_to(user).filter(agent=agent_id).exists()
    )


def chosen_agent(request: Request, own: Agent | None = None) -> Agent | None:
    """Return the posted agent, or None if it is empty or not allowed. The row's `own` agent is always allowed."""
    name = posted(request, "agent")
    return own if own and own.name == name else agent_named(request.user, name)


def chosen_workflow(request: Request) -> Workflow | None:
    return Workflow.objects.usable().filter(name=posted(request, "workflow")).first()


def chosen_model(request: Request, session: Session | None = None) -> LogicalModel | None:
    """Return the posted model, or None if it is empty or not allowed: then the default model answers."""
    models, name = _models(request.user.pk, session and session.model_id), posted(request, "model")
    return next((model for model in models if model.name == name), None)

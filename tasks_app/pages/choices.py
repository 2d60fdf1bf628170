"""What forms may choose: model, agent and workflow, and nothing by an unknown name; and the gallery of agents."""

from typing import Any

from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render

from llm_app.models import LogicalModel
from llm_app.sql.composed_query import Select
from tasks_app.access import Request, posted, signed_in
from tasks_app.models import Agent, AgentPicture, Project, Session, Workflow, agent_templates


def offered(user: Any, session: Session | None = None, *, agent: Agent | None = None) -> dict[str, Any]:
    """For a form's lists. Of a session that begins, `agent` is selected, or the default one."""
    usable = agents(user, session)
    return {
        "models": _models.rows(user.pk, session and session.model_id),
        "agents": usable,
        "start_agent": None if session else agent or next((each for each in usable if each.is_default), None),
        "workflows": _workflows.rows(),
    }


def agents(user: Any, session: Session | None = None) -> list[Agent]:
    """Those that the user may use, and the session's own."""
    return _agents.rows(user.pk, session and (session.active_agent_id or session.agent_id))


def agent_named(user: Any, name: str | None) -> Agent | None:
    return next((agent for agent in agents(user) if agent.name == name), None)


_agents = Select(lambda user, own: Agent.objects.usable_by(user) | Agent.objects.filter(pk=own))
# Those that are visible to the user, and the session's own: a form must not change it by itself.
_models = Select(lambda user, own: LogicalModel.objects.visible_to(user) | LogicalModel.objects.filter(pk=own))
_workflows = Select(Workflow.objects.usable)


@signed_in
def gallery(request: Request) -> HttpResponse:
    """Administrators also begin new ones here, from templates."""
    may_add = request.user.has_perm("tasks_app.add_agent") and request.user.is_staff
    templates = [
        {"key": each.key, "face": Agent(**_drawn(each.values)), "tries": each.tries}
        for each in agent_templates.load_all().values()
    ]
    usable = Agent.objects.usable_by(request.user.pk).select_related("model")
    context = {"agents": usable, "templates": templates if may_add else []}
    may_change = request.user.has_perm("tasks_app.change_agent") and request.user.is_staff
    return render(request, "agents.html", {**context, "may_change": may_change})


def _drawn(values: dict[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in ("name", "description", "mark")}


def picture(request: Request, agent_id: int) -> HttpResponse:
    """An uploaded one, for who may see its agent. Its address changes with it, so that browsers may keep it."""
    if not request.user.is_authenticated or not _may_see(request.user, agent_id):
        raise Http404()
    found = get_object_or_404(AgentPicture, agent=agent_id)
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    return HttpResponse(bytes(found.png), content_type="image/png", headers=headers)


def _may_see(user: Any, agent_id: int) -> bool:
    acts = Q(agent=agent_id) | Q(active_agent=agent_id) | Q(tasks__agent_version__agent=agent_id)
    usable, of_sessions = Agent.objects.usable_by(user.pk).filter(pk=agent_id), Session.objects.visible_to(user)
    seen = (usable, of_sessions.filter(acts), Project.objects.visible_to(user).filter(agent=agent_id))
    return (user.is_staff and user.has_perm("tasks_app.view_agent")) or any(rows.exists() for rows in seen)


def chosen_agent(request: Request, own: Agent | None = None) -> Agent | None:
    """None for an empty name, or an agent that the user may not use, unless it is already the row's `own`."""
    name = posted(request, "agent")
    return own if own and own.name == name else agent_named(request.user, name)


def chosen_workflow(request: Request) -> Workflow | None:
    return Workflow.objects.usable().filter(name=posted(request, "workflow")).first()


def chosen_model(request: Request, session: Session | None = None) -> LogicalModel | None:
    """None for an empty name, or a model that the user may not choose: the default then answers."""
    models, name = _models.rows(request.user.pk, session and session.model_id), posted(request, "model")
    return next((model for model in models if model.name == name), None)

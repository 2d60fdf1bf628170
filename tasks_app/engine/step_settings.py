"""The settings of a step. Changes by administrators and owners apply from a running task's next step on."""

from collections.abc import Sequence
from dataclasses import replace

import orjson
from django.db import connection
from django.utils import timezone

from llm_app import abilities
from llm_app.call import CachedRoutes
from llm_app.models import LogicalModel
from tasks_app.engine import delegation
from tasks_app.engine.capabilities import skills
from tasks_app.engine.hooks import hooks_of
from tasks_app.models import (
    Agent,
    AgentVersion,
    LibraryFile,
    Limits,
    Loaded,
    LoadedKind,
    Project,
    PromptSection,
    Session,
    Task,
)
from tasks_app.run import StepSettings, TaskContext
from tasks_app.run.context import model_name
from tasks_app.run.look import Look
from tools_app.policy import Policy, policy_for
from tools_app.shell.restrictions import UNRESTRICTED

MOST_KEPT = 500
_kept: dict[tuple[object, ...], StepSettings] = {}
SMALL_WINDOW = 12_000  # tokens; in smaller windows, rarely needed tools are loaded by group


def refresh_all(context: TaskContext, look: Look) -> None:
    """Refresh the settings, and the tool groups that the session has loaded."""
    refresh(context, look)
    if context.settings.policy.tools_by_group:
        context.loaded_groups = _loaded_groups(context.session)


def refresh(context: TaskContext, look: Look) -> None:
    """Read settings and secrets again if the caller's snapshot, or a folder of skills, shows a change."""
    context.skill_folders = skills.state_of_folders()
    refresh_rows(context, look)


def refresh_rows(context: TaskContext, look: Look) -> None:
    """Refresh within a step, without a look at the folders of skills: that happens once a step."""
    context.secrets.refresh(look.version)
    sessions = delegation.above(context.session)
    inherited = [(each.agent_id, each.active_agent_id, str(each.denied_tools)) for each in sessions]
    of_session = (look.agent, look.denied_tools, look.project)
    known = (look.version, timezone.now().date(), *of_session, context.skill_folders, *inherited)
    if context.settings.version != known:
        context.allowance.refresh()
        context.settings = read_settings(context.task, look, known, sessions)
    if context.settings.routes is not None:
        context.settings.routes.refresh(look.breakers)


def read_settings(task: Task, look: Look, version: tuple[object, ...], above: Sequence[Session] = ()) -> StepSettings:
    """Read the settings of a task. `above` are the sessions that delegated it, whose restrictions also apply."""
    agents, off_record = [one.acting_agent for one in above if one.acting_agent], task.session.off_record
    found = _shared(task, look, version, above)
    hooks = hooks_of(found.agent, agents, off_record=off_record)
    routes = CachedRoutes(model_name(task.session, found.agent), task.started_by_id, task.id)
    return replace(found, hooks=hooks, routes=routes)


def _shared(task: Task, look: Look, version: tuple[object, ...], above: Sequence[Session]) -> StepSettings:
    """Return settings that are the same for all tasks with the same person, agent, model and rights, from a cache.

    They are read for each task where more matters: a project's visibility, or the restrictions of sessions above.
    Within a transaction they are not cached either: a rollback would undo it, and their version with it.
    """
    if above or look.project[0] or connection.in_atomic_block:
        return _read(task, look, version, above)
    session = task.session
    only = None if session.allowed_tools is None else tuple(session.allowed_tools)
    key = (*version, task.started_by_id, session.model_id, session.off_record, only)
    if (found := _kept.get(key)) is None:
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        found = _kept[key] = _read(task, look, version, above)
    return found


def _read(task: Task, look: Look, version: tuple[object, ...], above: Sequence[Session]) -> StepSettings:
    session, user_id = task.session, task.started_by_id
    agent = Agent.objects.with_models().filter(pk__in=[look.agent]).first()
    denied = orjson.loads(look.denied_tools)
    model = model_name(session, agent)
    window = LogicalModel.objects.window_of(model)
    known = Project.objects.visible_to(task.started_by)
    project = known.filter(pk=look.project[0]).first() if look.project[0] else None
    only = agent.skills if agent else []
    return StepSettings(
        version=version,
        limits=Limits.current(),
        agent=agent,
        project=project,
        has_library=project is not None and LibraryFile.objects.of_project(project).ready().exists(),
        agent_version=AgentVersion.objects.current(agent) if agent else None,
        own_sections=_own_sections(agent),
        window=window,
        policy=_policy(session, agent, user_id, denied, above, has_small_window=window < SMALL_WINDOW),
        agents=delegation.known_agents(agent, user_id),
        skills=tuple(skill for skill in skills.catalogue(user_id) if not only or skill[0] in only),
        handoffs=_handoffs(agent, user_id),
        abilities=abilities.models_of_user(user_id, preferred=model),
    )


def _own_sections(agent: Agent | None) -> tuple[tuple[str, str], ...]:
    """Return the prompt sections in force, and the agent's instructions, which replace no other section."""
    texts = PromptSection.objects.texts_of(agent)
    return (*texts, ("instructions", agent.instructions)) if agent and agent.instructions.strip() else texts


def _handoffs(agent: Agent | None, user_id: int) -> tuple[tuple[str, str], ...]:
    """Return names and descriptions of agents to which it can hand on and that the task's person can use."""
    if agent is None:
        return ()
    others = agent.handoffs.exclude(pk=agent.pk)
    return tuple(Agent.objects.usable_by(user_id).filter(pk__in=others).values_list("name", "description"))


def _policy(
    session: Session,
    agent: Agent | None,
    user_id: int,
    in_session: list[str],
    above: Sequence[Session],
    *,
    has_small_window: bool,
) -> Policy:
    """Return the task's permissions, by its person, session and agent and by the sessions above it."""
    agents = [each for each in (agent, *(one.acting_agent for one in above)) if each]
    denied = [*in_session, *(["memory"] if session.off_record else [])]
    denied += [name for rows in (agents, above) for row in rows for name in row.denied_tools]
    restrictions = agent.restrictions if agent else UNRESTRICTED
    return policy_for(
        user_id,
        denied=denied,
        safe_only=session.off_record or any(each.safe_only for each in agents),
        restrictions=delegation.inherited(restrictions, session, above) if above else restrictions,
        helpers=delegation.helpers_of(agent, user_id),
        only=[frozenset(one.allowed_tools) for one in (session, *above) if one.allowed_tools is not None],
        has_small_window=has_small_window,
    )


def _loaded_groups(session: Session) -> frozenset[str]:
    return frozenset(Loaded.objects.filter(session=session, kind=LoadedKind.GROUP).values_list("name", flat=True))

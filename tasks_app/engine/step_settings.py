"""The settings of an iteration. Changes by administrators and owners apply from a running task's next one on."""

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
    LibraryFolder,
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
from tasks_app.run.snapshot import TaskSnapshot
from tools_app.policy import Policy, policy_for
from tools_app.shell import UNRESTRICTED

CACHE_SIZE = 500
_cache: dict[tuple[object, ...], StepSettings] = {}
SMALL_WINDOW = 12_000  # tokens; in smaller windows, rarely needed tools are loaded by group


def refresh_all(context: TaskContext, snapshot: TaskSnapshot) -> None:
    """Refresh the settings, and the tool groups that the session has loaded."""
    refresh_with_skills(context, snapshot)
    if context.settings.policy.tools_by_group:
        groups = Loaded.objects.filter(session=context.session, kind=LoadedKind.GROUP)
        context.loaded_groups = frozenset(groups.values_list("name", flat=True))


def refresh_with_skills(context: TaskContext, snapshot: TaskSnapshot) -> None:
    """Read settings and secrets again if the caller's snapshot, or a folder of skills, shows a change."""
    context.skill_folders = skills.state_of_folders()
    refresh(context, snapshot)


def refresh(context: TaskContext, snapshot: TaskSnapshot) -> None:
    """Refresh within an iteration, without a look at the folders of skills: that happens once an iteration."""
    context.secrets.refresh(snapshot.version)
    sessions = delegation.sessions_above(context.session)
    inherited = [(session.agent_id, session.active_agent_id, str(session.denied_tools)) for session in sessions]
    session_state = (snapshot.agent, snapshot.denied_tools, snapshot.project)
    version = (snapshot.version, timezone.now().date(), *session_state, context.skill_folders, *inherited)
    if context.settings.version != version:
        context.allowance.refresh()
        context.settings = read_settings(context.task, snapshot, version, sessions)
        project = context.settings.project
        context.workspace.shared_library = LibraryFolder(project.pk).update() if project else None
    if context.settings.routes is not None:
        context.settings.routes.refresh(snapshot.breakers)


def read_settings(
    task: Task, snapshot: TaskSnapshot, version: tuple[object, ...], above: Sequence[Session] = ()
) -> StepSettings:
    """Read the settings of a task. `above` are the sessions that delegated it, whose restrictions also apply."""
    agents, off_record = [session.acting_agent for session in above if session.acting_agent], task.session.off_record
    settings = _read_cached(task, snapshot, version, above)
    hooks = hooks_of(settings.agent, agents, off_record=off_record)
    routes = CachedRoutes(model_name(task.session, settings.agent), task.started_by_id, task.id)
    return replace(settings, hooks=hooks, routes=routes)


def _read_cached(
    task: Task, snapshot: TaskSnapshot, version: tuple[object, ...], above: Sequence[Session]
) -> StepSettings:
    """Return settings that are the same for all tasks with the same person, agent, model and rights, from a cache.

    They are read for each task where more matters: a project's visibility, or the restrictions of sessions above.
    Within a transaction they are not cached either: a rollback would undo it, and their version with it.
    """
    if above or snapshot.project[0] or connection.in_atomic_block:
        return _read_uncached(task, snapshot, version, above)
    session = task.session
    allowed = None if session.allowed_tools is None else tuple(session.allowed_tools)
    key = (*version, task.started_by_id, session.model_id, session.off_record, allowed)
    if (settings := _cache.get(key)) is None:
        if len(_cache) >= CACHE_SIZE:
            _cache.clear()
        settings = _cache[key] = _read_uncached(task, snapshot, version, above)
    return settings


def _read_uncached(
    task: Task, snapshot: TaskSnapshot, version: tuple[object, ...], above: Sequence[Session]
) -> StepSettings:
    session, user_id = task.session, task.started_by_id
    agent = Agent.objects.with_models().filter(pk__in=[snapshot.agent]).first()
    denied = orjson.loads(snapshot.denied_tools)
    model = model_name(session, agent)
    window = LogicalModel.objects.window_of(model)
    visible_projects = Project.objects.visible_to(task.started_by)
    project = visible_projects.filter(pk=snapshot.project[0]).first() if snapshot.project[0] else None
    allowed_skills = agent.skills if agent else []
    own_sections = PromptSection.objects.texts_of(agent)
    if agent and agent.instructions.strip():  # added to the sections, and replace none
        own_sections = (*own_sections, ("instructions", agent.instructions))
    return StepSettings(
        version=version,
        limits=Limits.current(),
        agent=agent,
        project=project,
        has_library=project is not None and LibraryFile.objects.of_project(project).ready().exists(),
        agent_version=AgentVersion.objects.current(agent) if agent else None,
        own_sections=own_sections,
        window=window,
        policy=_policy(session, agent, user_id, denied, above, has_small_window=window < SMALL_WINDOW),
        agents=delegation.visible_agents(agent, user_id),
        skills=tuple(skill for skill in skills.catalogue(user_id) if not allowed_skills or skill[0] in allowed_skills),
        handoffs=_handoffs(agent, user_id),
        abilities=abilities.models_of_user(user_id, preferred=model),
    )


def _handoffs(agent: Agent | None, user_id: int) -> tuple[tuple[str, str], ...]:
    """Return names and descriptions of agents to which it can hand on and that the task's person can use."""
    if agent is None:
        return ()
    receivers = agent.handoffs.exclude(pk=agent.pk)
    return tuple(Agent.objects.usable_by(user_id).filter(pk__in=receivers).values_list("name", "description"))


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
    agents = [row for row in (agent, *(session_above.acting_agent for session_above in above)) if row]
    denied = [*in_session, *(["memory"] if session.off_record else [])]
    denied += [name for rows in (agents, above) for row in rows for name in row.denied_tools]
    restrictions = agent.restrictions if agent else UNRESTRICTED
    return policy_for(
        user_id,
        denied=denied,
        safe_only=session.off_record or any(row.safe_only for row in agents),
        restrictions=delegation.combined_restrictions(restrictions, session, above) if above else restrictions,
        helpers=delegation.helper_tools(agent, user_id),
        only=[
            frozenset(session_above.allowed_tools)
            for session_above in (session, *above)
            if session_above.allowed_tools is not None
        ],
        has_small_window=has_small_window,
    )

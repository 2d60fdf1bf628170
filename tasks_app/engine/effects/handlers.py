"""The handlers of effects. They collect `Changes`, which `run_tool.record` commits."""

import json
from dataclasses import asdict, replace

from tasks_app.engine import delegation, workflow
from tasks_app.engine.effects.registry import Changes, handles
from tasks_app.memory import search
from tasks_app.models import (
    Agent,
    CallStatus,
    FailureCode,
    Limits,
    Loaded,
    LoadedKind,
    MemoryNote,
    Session,
    TaskState,
)
from tasks_app.record.append import storable_json
from tasks_app.run import Failed, Refused, ReplyNeeded, reminders
from tools_app.contract import (
    CacheSearch,
    Delegate,
    DeleteNote,
    EndStep,
    Finish,
    HandoffRefused,
    HandOn,
    InvalidData,
    JobStarted,
    LoadGroup,
    LoadSkill,
    SaveNote,
    SetPlan,
    UnloadGroup,
    WaitForReply,
)
from tools_app.models import CachedSearch

MOST_MISFITS = 3
MOST_REFUSED_HANDOFFS = 3


@handles(Finish)
def finish(effect: Finish, changes: Changes) -> None:
    changes.state = TaskState.FINALIZING
    result = {
        "text": effect.text,
        "data": effect.data,
        "attachments": list(effect.attachments),
        "suggestions": list(effect.suggestions),
    }
    changes.fields["final_result"] = storable_json(result)


@handles(InvalidData)
def count_misfit(effect: InvalidData, changes: Changes) -> None:
    """Count data that does not fit the schema. It goes back to the model a few times a task, then the task fails."""
    misfits = changes.fields["misfits"] = changes.task.misfits + 1
    if misfits >= MOST_MISFITS:
        changes.failure = Failed(
            FailureCode.STRUCTURAL_ERROR,
            f"The data did not fit the schema {misfits} times. Make the schema simpler, or choose another model.",
        )


@handles(WaitForReply)
def wait_for_reply(effect: WaitForReply, changes: Changes) -> None:
    """Let the call wait for a person's answer, which will be its result.

    Raises: ReplyNeeded.
    """
    changes.call.log.status = CallStatus.WAITING
    raise ReplyNeeded()


@handles(Delegate)
def delegate(effect: Delegate, changes: Changes) -> None:
    """Let the call wait for its children, whose results will be its result. Everything in it is redacted.

    Raises: ChildrenNeeded, Refused if one of the agents no longer exists.
    """
    _require_agents({task.agent for task in effect.tasks if task.agent}, changes)
    changes.call.log.status = CallStatus.WAITING
    tasks = []
    for task in effect.tasks:
        instruction, schema = changes.redactor.redacted(task.instruction), task.output_schema
        if schema:
            schema = json.dumps(changes.redactor.redacted_json(json.loads(schema)), ensure_ascii=False)
        tasks.append(replace(task, instruction=instruction, output_schema=schema))
    raise delegation.start_children(changes.task, changes.call, replace(effect, tasks=tasks))


@handles(SetPlan)
def set_plan(effect: SetPlan, changes: Changes) -> None:
    changes.fields["plan"] = storable_json([asdict(step) for step in effect.steps])


@handles(EndStep)
def end_step(effect: EndStep, changes: Changes) -> None:
    entries, fields = workflow.next_step(changes.task)
    changes.drafts += entries
    changes.fields |= fields


@handles(HandOn)
def hand_on(effect: HandOn, changes: Changes) -> None:
    """Hand the conversation on to another agent.

    Raises: Refused if the agent no longer exists.
    """
    _require_agents({effect.agent}, changes)
    receiver, session = Agent.objects.get(name=effect.agent), Session.objects.filter(pk=changes.task.session_id)
    changes.drafts.append(reminders.handoff(effect.sender, receiver.name, effect.note))
    changes.fields["handoffs"] = changes.task.handoffs + 1
    changes.extra_writes.append(lambda: session.update(active_agent=receiver))


def _require_agents(names: set[str], changes: Changes) -> None:
    """Refuse the call if an agent was deleted after the tool's own check, while hooks ran.

    Raises: Refused.
    """
    missing = names - set(Agent.objects.filter(name__in=names).values_list("name", flat=True))
    if missing:
        changes.call.log.status = CallStatus.FAILED
        text = f"There is no agent {', '.join(sorted(missing))} any more."
        raise Refused(*changes.call.result(text, CallStatus.FAILED))


@handles(HandoffRefused)
def count_refused_handoff(effect: HandoffRefused, changes: Changes) -> None:
    """Count a refused handoff. The agent can still answer itself; after a few refusals the task fails."""
    handoffs = changes.fields["handoffs"] = changes.task.handoffs + 1
    limit = Limits.current().handoff_limit
    if handoffs >= limit + MOST_REFUSED_HANDOFFS:
        changes.failure = Failed(
            FailureCode.TOOL_LOOP,
            f"The agents handed this task on {limit} times, and none of them answered. Say which of them shall do "
            "what, or choose one agent for it.",
        )


@handles(CacheSearch)
def keep_search(effect: CacheSearch, changes: Changes) -> None:
    content = changes.redactor.redacted(effect.content)
    changes.rows.append(CachedSearch(user_id=changes.task.started_by_id, key=effect.key, content=content))


@handles(JobStarted)
def count_job(effect: JobStarted, changes: Changes) -> None:
    session = changes.task.session
    session.last_job = max(session.last_job, effect.number)
    changes.extra_writes.append(lambda: Session.objects.filter(pk=session.pk).update(last_job=session.last_job))


@handles(LoadGroup)
def load_group(effect: LoadGroup, changes: Changes) -> None:
    for name in effect.tools or [effect.group]:
        _load(changes, LoadedKind.GROUP, name)
    changes.fields["shown_tools"] = sorted({*changes.task.shown_tools, *effect.announced})  # so that no reminder does


@handles(UnloadGroup)
def unload_group(effect: UnloadGroup, changes: Changes) -> None:
    names = {effect.group, *effect.tools}.difference(effect.kept)
    changes.fields["shown_tools"] = sorted({*changes.task.shown_tools} - names)
    loaded = Loaded.objects.filter(session=changes.task.session, kind=LoadedKind.GROUP, name__in=names)
    changes.extra_writes.append(loaded.delete)
    for name in effect.kept:
        _load(changes, LoadedKind.GROUP, name)


@handles(LoadSkill)
def load_skill(effect: LoadSkill, changes: Changes) -> None:
    _load(changes, LoadedKind.SKILL, effect.name)


def _load(changes: Changes, kind: LoadedKind, name: str) -> None:
    """Mark a group, a tool of a group or a skill as loaded, until the session is deleted."""
    session = changes.task.session
    if not Loaded.objects.filter(session=session, kind=kind, name=name).exists():
        changes.rows.append(Loaded(session=session, kind=kind, name=name))


@handles(SaveNote)
def keep_note(effect: SaveNote, changes: Changes) -> None:
    task, text = changes.task, changes.redactor.redacted(effect.text).strip()
    if text:
        project = search.projects_of(task).first()
        note = MemoryNote(project=project, task=task, call_id=changes.call.call.id, text=text)
        note.owner_id = None if project else task.started_by_id
        changes.rows.append(note)


@handles(DeleteNote)
def forget_note(effect: DeleteNote, changes: Changes) -> None:
    """Delete a note of the person, or in a project, of the project."""

    def delete_note() -> None:
        projects, person = search.projects_of(changes.task), changes.task.started_by
        notes = MemoryNote.objects.of_projects(projects) if projects else MemoryNote.objects.of_user(person)
        notes.filter(pk=effect.number).delete()

    changes.extra_writes.append(delete_note)

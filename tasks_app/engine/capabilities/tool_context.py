"""The context of a tool in a session. It is built here, so that tools know nothing of sessions."""

from collections.abc import Sequence
from functools import partial

from django.conf import settings as django_settings
from django.db.models import Max

from llm_app.call import Runner
from llm_app.models import ServiceKey
from llm_app.redaction import Redactor, names_in, placeholder
from tasks_app.engine.capabilities.mcp_targets import McpTargets
from tasks_app.engine.capabilities.model_access import ModelAccess
from tasks_app.engine.capabilities.progress import Progress
from tasks_app.engine.capabilities.skills import StoredSkills
from tasks_app.engine.check_call import ClearedCall
from tasks_app.engine.delegation import delegation_of
from tasks_app.memory import library, search
from tasks_app.models import ContextEntry, MemoryNote, MemoryNoteQuerySet, Project, Task
from tasks_app.record import SessionSecrets, tokens
from tasks_app.run import TaskContext, UnitOfWork, affinity
from tasks_app.runtime import process
from tasks_app.workspace.folders import layers
from tools_app.contract import Arguments, Engine, Handoffs, PlanStep, ReaderService, Target, ToolContext, ToolDefinition
from tools_app.errors import NothingStored, ToolError
from tools_app.models import AllowedAddress, CachedSearch, SearchEngine
from tools_app.network import NetworkPolicy
from tools_app.notes import CitedPassage, Note
from tools_app.policy import Policy
from tools_app.sandbox import SandboxPorts

_REACHING_HOSTS = (Target.SANDBOX, Target.NETWORK, Target.BROWSER)
_NO_HOSTS = NetworkPolicy()


def tool_context(context: TaskContext, cleared: ClearedCall, progress: Progress) -> ToolContext:
    settings, task, secrets = context.settings, context.task, context.secrets
    session = str(task.session_id)
    report = _discard_output if settings.filters_output else partial(progress.stream.feed, "tool_output")
    models = ModelAccess(context, model=context.model, abilities=settings.abilities, say=report)
    mcp_targets = McpTargets(task, secrets)
    handoffs = Handoffs(
        sender=settings.agent.name if settings.agent else "",
        agents=[name for name, _ in settings.handoffs],
        remaining=settings.limits.handoff_limit - task.handoffs,
    )
    return ToolContext(
        session=session,
        workspace=context.workspace,
        sandbox=context.sandbox,
        layers=partial(layers, context.sandbox, settings.agent),
        mask=partial(settings.policy.restrictions.mask, context.workspace),
        network=_network(settings.policy, cleared.definition, session),
        plan=[PlanStep(**step) for step in task.plan],
        groups=settings.policy.tools_by_group,
        shown_tools=context.visible.names,
        tool_limit=settings.routes.tool_limit() if settings.routes and settings.policy.tools_by_group else None,
        output_schema=task.output_schema,
        time_zone=context.time_zone,
        page_bytes=tokens.page_bytes(context.result_tokens),
        ask_model=models.ask,
        make_media=models.make,
        secrets=_secrets(task, secrets, cleared.arguments) if cleared.definition.takes_secrets else {},
        searches=StoredSearches(task.started_by_id),
        stored_result=StoredResults(context, secrets.redactor),
        reader=ReaderService(**django_settings.READER_SERVICE) if django_settings.READER_SERVICE else None,
        mcp_target=mcp_targets.target,
        relist_mcp_tools=mcp_targets.relist,
        skills=StoredSkills(task.started_by_id, [name for name, _ in settings.skills], context.history),
        handoffs=handoffs,
        memory=StoredMemory(context),
        library=StoredLibrary(context),
        delegation=delegation_of(context, cleared.definition),
        last_job=context.session.last_job,
        job_ended=partial(affinity.store_held, session),
        report=report,
        so_far=progress.so_far,
        started=process.record_group,
    )


def _network(policy: Policy, definition: ToolDefinition, session: str) -> NetworkPolicy:
    """Return the hosts that the tool can reach.

    Programs reach the hosts that are named for them. Other tools reach all public hosts, and the ports that the
    session's own programs serve.
    """
    if definition.target not in _REACHING_HOSTS:
        return _NO_HOSTS
    is_program = definition.target is Target.SANDBOX
    only = policy.hosts(definition.name) if is_program else None
    allowed: frozenset[str] = frozenset()
    if only or not is_program:
        allowed = frozenset(AllowedAddress.objects.values_list("address", flat=True))
    sandbox = None if is_program else SandboxPorts(session=session)
    return NetworkPolicy(only_hosts=only, allow_internal=allowed, sandbox=sandbox)


def _discard_output(text: str) -> None:
    """Discard output while hooks check results before anyone sees them."""


def _secrets(task: Task, secrets: SessionSecrets, arguments: Arguments) -> dict[str, str]:
    """Return values by placeholder, only of secrets that the arguments name and that the task can use now."""
    named = names_in(arguments.model_dump(mode="json"))
    usable = secrets.usable_in(task) if named else {}
    return {placeholder(name): value for name, value in usable.items() if name in named}


class StoredResults:
    """The implementation of `capabilities.StoredResult`: the entry with a number, redacted with current secrets."""

    def __init__(self, context: TaskContext, redactor: Redactor) -> None:
        self._session, self._has_cut, self._redactor = context.session, context.history.has_cut, redactor

    async def __call__(self, number: int) -> str:
        if not self._has_cut:
            raise ToolError("Nothing of this conversation is shortened: all of it is above.")
        return self._redactor.redacted(await process.in_thread(partial(self._content, number)))

    def _content(self, number: int, run: Runner) -> str:
        entries = ContextEntry.objects.in_session(self._session).in_context().without(self._session.left_out)
        if (entry := entries.filter(seq=number).first()) is None:
            last = entries.aggregate(last=Max("seq"))["last"]
            raise NothingStored(f"There is no result with the number {number}. The numbers n go from 1 to {last}.")
        if call := entry.call:
            result = entries.filter(seq__gt=number).first()
            return f"{call['name']}({call['arguments']})\n{result.content if result else ''}"
        return entry.content


class StoredSearches:
    """The implementation of `capabilities.Searches` for one user."""

    def __init__(self, user_id: int) -> None:
        self._user_id = user_id

    async def engines(self) -> Sequence[Engine]:
        return await process.in_thread(_engines)

    async def cached_result(self, key: str) -> str:
        return await process.in_thread(lambda _: self._cached_result(key))

    def _cached_result(self, key: str) -> str:
        CachedSearch.objects.expired().delete()
        newest = CachedSearch.objects.filter(user=self._user_id, key=key).last()
        return newest.content if newest else ""


def _engines(run: Runner) -> list[Engine]:
    rows = list(SearchEngine.objects.filter(enabled=True))
    stored = ServiceKey.objects.filter(name__in=[row.key_name for row in rows])
    keys = {key.name: key.value for key in stored}
    return [
        Engine(name=row.name, kind=row.kind, base_url=row.base_url, api_key=keys.get(row.key_name, "")) for row in rows
    ]


class StoredLibrary:
    """The implementation of `capabilities.Library` for one task."""

    def __init__(self, unit: UnitOfWork) -> None:
        self._unit = unit

    async def search(self, query: str) -> Sequence[CitedPassage]:
        return await process.in_thread(lambda run: library.search(self._unit, query, run))


SHOWN = 8
_SHARED = "Others read along in this session: notes of one person are neither written nor forgotten here."


class StoredMemory:
    """The implementation of `capabilities.Memory` for one task."""

    def __init__(self, unit: UnitOfWork) -> None:
        self._unit = unit

    async def search(self, question: str) -> Sequence[Note]:
        return await process.in_thread(lambda run: search.search(self._unit, question, SHOWN, run))

    async def own_note(self, number_or_text: str) -> Note:
        return await process.in_thread(partial(self._own_note, number_or_text))

    async def is_new(self, text: str) -> bool:
        return await process.in_thread(partial(self._is_new, text))

    def _own_note(self, number_or_text: str, run: Runner) -> Note:
        notes = self._notes()
        number = number_or_text.strip().lstrip("#")
        same = notes.filter(pk=number) if number.isdecimal() and len(number) < 19 else notes.filter(text=number_or_text)
        candidates = [search.as_note(row) for row in same] or search.nearest_by_words(notes, number_or_text, SHOWN)
        if not candidates:
            raise ToolError("No note of the person is like that. Search for it.")
        if len(candidates) > 1:
            raise ToolError("Several notes are like that. Name the number of one: " + "; ".join(map(str, candidates)))
        return candidates[0]

    def _is_new(self, text: str, run: Runner) -> bool:
        notes = self._notes()
        if notes.count() >= MemoryNote.MAX_PER_OWNER:
            raise ToolError(
                f"The memory is full ({MemoryNote.MAX_PER_OWNER:,} notes). Forget what is no longer true first."
            )
        return not notes.filter(text=self._unit.secrets.redactor.redacted(text).strip()).exists()

    def _notes(self) -> MemoryNoteQuerySet:
        """Return the notes that the task can change: its person's, or in a project, the project's."""
        if (projects := search.projects_of(self._unit.task)).exists():
            if not (projects & Project.objects.writable_by(self._unit.task.started_by)).exists():
                raise ToolError("The person may only read in this project: its notes are left as they are.")
            return MemoryNote.objects.of_projects(projects)
        if search.is_shared(self._unit.task):
            raise ToolError(_SHARED)
        return MemoryNote.objects.of_user(self._unit.task.started_by)

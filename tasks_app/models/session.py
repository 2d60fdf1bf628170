"""Sessions (a conversation with a workspace and a record), and their search terms."""

import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Count, Exists, F, OuterRef, Q, Subquery, Sum, Value
from django.utils.translation import gettext

from llm_app.models import LogicalModel
from llm_app.sql import cached_sql, fetch_first
from tasks_app.models.agent import Agent
from tasks_app.models.project import Project, ProjectMember
from tasks_app.models.sharing import SessionMember
from tasks_app.models.task_state import PERSON_WAITS
from tasks_app.text import full_text
from tasks_app.text.retrieval import fold, terms_of

MAX_SEARCH_WORDS = 8  # per search
SearchWord = tuple[Any, Any]  # the folded word and its index query, which is empty for a word without terms


class SessionText(models.Model):
    """The search terms of a session's entries from `first_seq` to `last_seq`, and of files changed at the time.

    `masked_with` is the version of the secrets that were redacted, and of the index.
    """

    session = models.ForeignKey("tasks_app.Session", models.CASCADE, related_name="texts", db_index=False)
    first_seq = models.PositiveIntegerField()
    last_seq = models.PositiveIntegerField()
    terms = models.TextField()
    masked_with = models.CharField(max_length=16)

    class Meta:
        db_table = "session_texts"
        indexes = [models.Index(fields=["session", "first_seq"])]

    def __str__(self) -> str:
        return f"{self.session_id} {self.first_seq} to {self.last_seq}"


def is_behind() -> Q:
    """Return the condition that a session's newest entries are not indexed yet. A partial index has the same
    condition.
    """
    return Q(last_seq__gt=F("indexed_seq"))


def parse_words(words: str) -> list[SearchWord]:
    """Return the search words with their index queries. The last word may be unfinished."""
    words_with_terms = [(word, terms_of(word)) for word in fold(words).split()[:MAX_SEARCH_WORDS]]
    last = len(words_with_terms) - 1
    return [
        (word, full_text.query_for_all(terms, unfinished=index == last) if terms else "")
        for index, (word, terms) in enumerate(words_with_terms)
    ]


def words_condition(
    words: Iterable[SearchWord], entries: "models.QuerySet[models.Model]", changes: "models.QuerySet[models.Model]"
) -> Q:
    """Return a condition on sessions: each word is in the title, in an entry, or in the name of a changed file.

    `entries` and `changes` are subqueries on the outer query's session. Rows that are not indexed yet are searched
    directly.
    """
    condition = Q()
    unindexed_entries = entries.filter(seq__gt=OuterRef("indexed_seq"))
    # An output filter may withhold calls.
    messages = unindexed_entries.filter(context_type="ai_message").exclude(metadata__has_key="output_filter")
    unindexed_changes = changes.filter(seq__gte=OuterRef("indexed_seq"))
    for word, index_query in words:
        matches = full_text.field_contains("title", word)
        matches |= is_behind() & Q(Exists(unindexed_entries.filter(full_text.field_contains("content", word))))
        matches |= is_behind() & Q(Exists(messages.filter(full_text.call_contains("tool_call", word))))
        matches |= (is_behind() | Q(last_seq=0)) & Q(
            Exists(unindexed_changes.filter(full_text.field_contains("files__path", word)))
        )
        if index_query:
            ids = full_text.SESSIONS.ids(index_query)
            matches |= Q(Exists(SessionText.objects.filter(session=OuterRef("pk"), pk__in=ids)))
        condition &= matches
    return condition


@cached_sql
def _any_member(session: Any) -> int | None:
    return fetch_first(SessionMember.objects.filter(session=session).values_list("pk", flat=True))


class SessionQuerySet(models.QuerySet["Session"]):
    def visible_to(self, user: Any) -> "SessionQuerySet":
        """Filter sessions that the user owns, that are shared with them, or that are in one of their projects.

        Every query for a user's rows starts here.
        """
        return self._of(user, SessionMember.objects.of_user(user), ProjectMember.objects.of_user(user))

    def writable_by(self, user: Any) -> "SessionQuerySet":
        shared, projects = SessionMember.objects.of_user(user), ProjectMember.objects.of_user(user)
        return self._of(user, shared.filter(may_write=True), projects.filter(may_write=True))

    def _of(self, user: Any, members: models.QuerySet[Any], in_projects: models.QuerySet[Any]) -> "SessionQuerySet":
        """Filter by ownership, membership and project. Each condition uses an index.

        The session of a delegated task is visible to all who can see its root, whose workspace it shares.
        """
        shared_sessions = members.values("session")
        own_projects = Project.objects.filter(owner=user).order_by().values("pk")
        shared_roots = Q(pk__in=shared_sessions, folder="")  # with `root=None`, SQLite would scan all roots
        own_or_shared = Q(owner=user) | shared_roots | Q(root__in=shared_sessions)
        return self.filter(own_or_shared | Q(project__in=own_projects) | Q(project__in=in_projects.values("project")))

    @cached_sql
    def find_visible(self, user: Any, pk: Any) -> "Session | None":
        """Return the session with its owner and model, or None if the user cannot see it."""
        return fetch_first(self.visible_to(user).filter(pk=pk).select_related("owner", "model").order_by())

    @cached_sql
    def find_writable(self, user: Any, pk: Any) -> "Session | None":
        return fetch_first(self.writable_by(user).filter(pk=pk).order_by())

    @cached_sql
    def lock_head(self, pk: Any) -> tuple[int, str] | None:
        """Lock the session, but not against new rows that refer to it. Return the newest entry's number and hash."""
        locked = self.select_for_update(no_key=True).filter(pk=pk).order_by()
        return fetch_first(locked.values_list("last_seq", "chain_head"))

    @cached_sql
    def holder_of(self, task: Any) -> str | None:
        """Return the name of the process that holds resources of the task's session, or ""."""
        return fetch_first(self.filter(tasks=task).order_by().values_list("held_by", flat=True))

    @cached_sql
    def count_owned(self, owner: Any) -> int | None:
        own = self.filter(owner=owner).started_by_people().order_by().values_list(Value(1))
        return fetch_first(own.annotate(count=Count("pk")).values_list("count", flat=True))

    @cached_sql
    def sum_bytes(self, owner: Any, *without: Any) -> int | None:
        """Return the bytes of the files of a person's sessions, except for some sessions."""
        own = self.filter(owner=owner).exclude(pk__in=without).order_by().values_list(Value(1))
        return fetch_first(own.annotate(all=Sum("files_bytes")).values_list("all", flat=True))

    def rights(self) -> dict[uuid.UUID, dict[int, bool]]:
        """Return, by session and by person, whether the person has write access."""
        return rights_of_rows(self.order_by().values_list(*RIGHTS))

    def started_by_people(self) -> "SessionQuerySet":
        """Exclude sessions of delegated tasks."""
        return self.filter(root=None)

    def matching(self, words: str | Sequence[SearchWord]) -> "SessionQuerySet":
        """Filter sessions with all the words in the title, an entry or a changed file. Without words, return all."""
        search_words = parse_words(words) if isinstance(words, str) else words
        if not search_words:
            return self
        return self.filter(words_condition(search_words, _related("entries"), _related("changes")))

    def behind(self) -> "SessionQuerySet":
        """Filter sessions whose newest entries are not indexed yet."""
        return self.filter(is_behind())

    def with_newest_task(self) -> "SessionQuerySet":
        """Annotate `task_id`, `task_state`, `task_waiting_for` and `task_stopped`, or None without a task.

        Also annotate `child_asks`: whether a delegated task below waits for a person.
        """
        newest = _related("tasks").order_by("-created_at")
        waiting_tasks = newest.model.objects.filter(session__root=OuterRef("pk"), waiting_for__in=PERSON_WAITS)
        fields = {"task_id": "pk", "task_state": "state", "task_waiting_for": "waiting_for", "task_stopped": "stopped"}
        columns = {name: Subquery(newest.values(field)[:1]) for name, field in fields.items()}
        return self.annotate(**columns, child_asks=Exists(waiting_tasks))


class Session(models.Model):
    """A session. `last_seq` and `chain_head` belong to its newest entry, and change in the transaction that appends
    it.

    `held_by` names the engine process that has resources of the session, and `held` names these. They end with the
    process.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="owned_sessions")
    members: "models.ManyToManyField[Any, Any]" = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="SessionMember", related_name="shared_sessions"
    )
    project = models.ForeignKey(
        Project,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="sessions",
        help_text="Its people see the session.",
    )
    title = models.CharField(max_length=200, blank=True)
    model = models.ForeignKey(
        LogicalModel, models.SET_NULL, null=True, blank=True, help_text="Empty: the default model."
    )
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, blank=True, related_name="sessions")
    active_agent = models.ForeignKey(
        Agent,
        models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        help_text="The agent that has the conversation after a handoff, until it answers.",
    )
    denied_tools = models.JSONField(default=list, blank=True, help_text="Names of tools that may not be used in it.")
    off_record = models.BooleanField(
        default=False, help_text="Read-only tools; no memory is read or written. Chosen when the session is created."
    )
    parent = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="forks",
        help_text="The session that it was forked from.",
    )
    parent_seq = models.PositiveIntegerField(
        null=True, blank=True, editable=False, help_text="The last entry that was copied from it."
    )
    root = models.ForeignKey(
        "self",
        models.CASCADE,
        null=True,
        blank=True,
        editable=False,
        related_name="descendants",
        help_text="For the session of a delegated task: the session that a person started.",
    )
    folder = models.CharField(
        max_length=200, blank=True, editable=False, help_text="Its folder in the root's workspace: children/2."
    )
    allowed_tools = models.JSONField(
        null=True, blank=True, editable=False, help_text="Names of the only tools that its task was given."
    )
    workdir = models.CharField(
        max_length=1000, blank=True, editable=False, help_text="The folder in which `run_agent` works."
    )
    summary = models.TextField(blank=True, help_text="The text of the newest result.")
    next_steps = models.JSONField(default=list, blank=True)
    left_out = models.JSONField(
        default=list, blank=True, editable=False, help_text="Ranges [first, last] of entries that requests leave out."
    )
    last_seq = models.PositiveIntegerField(default=0)
    indexed_seq = models.PositiveIntegerField(
        default=0, editable=False, help_text="The newest entry that is indexed for search."
    )
    chain_head = models.CharField(max_length=64, blank=True)
    held_by = models.CharField(max_length=100, blank=True, editable=False)
    held = models.JSONField(default=dict, blank=True, editable=False)
    last_job = models.PositiveIntegerField(
        default=0, editable=False, help_text="The highest number of a background command. Numbers are not reused."
    )
    files_bytes = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Bytes of workspace and home at the last measurement."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = SessionQuerySet.as_manager()

    class Meta:
        db_table = "sessions"
        ordering = ["-updated_at"]
        constraints = [
            models.UniqueConstraint(fields=["root", "folder"], condition=~Q(folder=""), name="folder_once_per_root"),
            models.CheckConstraint(
                condition=Q(root=None, folder="") | (Q(root__isnull=False) & ~Q(folder="")),
                name="session_with_a_root_has_a_folder",
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-updated_at"]),
            models.Index(fields=["-created_at", "owner", "root", "project", "id"], name="newest_sessions"),
            models.Index(fields=["held_by"], condition=~Q(held_by=""), name="held_sessions"),
            models.Index(fields=["id"], condition=is_behind(), name="sessions_behind"),
        ]

    def __str__(self) -> str:
        return self.title or gettext("New session")

    def get_absolute_url(self) -> str:
        return f"/s/{self.id}/"

    def is_open_to_others(self, user: Any) -> bool:
        """Return whether anyone besides this person can read the session."""
        project = self.project
        if self.owner_id != user.pk or (project and (project.owner_id != user.pk or project.memberships.exists())):
            return True
        return _any_member(self.root_id or self.pk) is not None

    @property
    def acting_agent(self) -> Agent | None:
        """The agent whose settings apply to the next step."""
        return self.active_agent or self.agent

    @property
    def group(self) -> str:
        """The channel layer's group for events of this session."""
        return f"session.{self.id.hex}"

    @property
    def depth(self) -> int:
        """The number of delegations between this session and the one that a person started."""
        return len(self.folder.split("/")) // 2 if self.folder else 0

    @property
    def home_path(self) -> Path:
        """The home folder of programs that its tools run."""
        return Path(settings.HOMES_DIR) / str(self.id)

    @property
    def workspace_path(self) -> Path:
        if self.root is not None:
            return self.root.workspace_path / self.folder
        return Path(self.workdir) if self.workdir else Path(settings.WORKSPACES_DIR) / str(self.id)

    @property
    def history_path(self) -> Path:
        """The folder of earlier file contents, which is deleted with the session."""
        return Path(settings.VERSIONS_DIR) / str(self.id)


RIGHTS = ("pk", "root", "owner", "project")  # columns of Session that determine rights


def rights_of_rows(rows: Iterable[tuple[Any, ...]]) -> dict[uuid.UUID, dict[int, bool]]:
    """Return rights like `SessionQuerySet.rights`, from rows that begin with the columns `RIGHTS`.

    Write access as a member, by the project or as the owner is enough.
    """
    rows = [(pk, root or pk, owner, project) for pk, root, owner, project, *_ in rows]
    members = SessionMember.objects.rights({root for _, root, _, _ in rows})
    projects = Project.objects.rights({row[3] for row in rows if row[3]})
    rights: dict[uuid.UUID, dict[int, bool]] = {}
    for pk, root, owner, project in rows:
        merged = rights[pk] = {}
        for people in (members.get(root, {}), projects.get(project, {}), {owner: True}):
            for person, may_write in people.items():
                merged[person] = merged.get(person, False) or may_write
    return rights


def _related(name: str) -> models.QuerySet[Any]:
    """Return a subquery on the session's related rows, whose models import this module."""
    relation: Any = Session._meta.get_field(name)
    rows: models.QuerySet[Any] = relation.related_model._default_manager.filter(session=OuterRef("pk"))
    return rows

"""Sessions: one conversation, one workspace, one record; the terms that search finds, and links for readers."""

import hashlib
import secrets
import uuid
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q, Subquery
from django.utils import timezone
from django.utils.translation import gettext

from llm_app.models import LogicalModel
from llm_app.sql.composed_query import Select
from tasks_app.models.agent import Agent
from tasks_app.models.project import Project, ProjectMember
from tasks_app.models.sharing import SessionMember
from tasks_app.models.task_state import PERSON
from tasks_app.text import full_text
from tasks_app.text.retrieval import fold, terms_of

MOST_WORDS = 8  # of a search
Word = tuple[Any, Any]  # folded, and what the index is asked for: nothing, if it has no terms


class SessionText(models.Model):
    """The terms of a session's entries from `first_seq` to `last_seq`, and of the files that were changed there.

    They were redacted with the secrets of `masked_with`, which also names the version of the index.
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
    """Of sessions: the terms of their newest entries are not there yet. An index answers this very condition."""
    return Q(last_seq__gt=F("indexed_seq"))


def searched(words: str) -> list[Word]:
    """Each of them; the last one may be the beginning of one."""
    given = [(word, terms_of(word)) for word in fold(words).split()[:MOST_WORDS]]
    last = len(given) - 1
    return [
        (word, full_text.with_all(terms, unfinished=place == last) if terms else "")
        for place, (word, terms) in enumerate(given)
    ]


def words_of(shape: Sequence[bool], values: Sequence[Any]) -> list[Word]:
    """Of values that stand for words: whether each has terms is in `shape`, as that decides over the query's text."""
    return [(values[2 * place], values[2 * place + 1] if has_terms else "") for place, has_terms in enumerate(shape)]


def has_words(
    words: Iterable[Word], entries: "models.QuerySet[models.Model]", changes: "models.QuerySet[models.Model]"
) -> Q:
    """Return a condition on sessions: each word is in the title, in an entry, or in the name of a changed file.

    `entries` and `changes` are those of the outer query's session; those without terms are read themselves.
    """
    condition = Q()
    new = entries.filter(seq__gt=OuterRef("indexed_seq"))
    said = new.filter(context_type="ai_message").exclude(metadata__has_key="output_filter")  # that may withhold it
    changed = changes.filter(seq__gte=OuterRef("indexed_seq"))
    for word, asked in words:
        found = full_text.has("title", word)
        found |= is_behind() & Q(Exists(new.filter(full_text.has("content", word))))
        found |= is_behind() & Q(Exists(said.filter(full_text.says("tool_call", word))))
        found |= (is_behind() | Q(last_seq=0)) & Q(Exists(changed.filter(full_text.has("files__path", word))))
        if asked:
            ids = full_text.SESSIONS.ids(asked)
            found |= Q(Exists(SessionText.objects.filter(session=OuterRef("pk"), pk__in=ids)))
        condition &= found
    return condition


_members_of = Select(lambda session: SessionMember.objects.filter(session=session).values_list("pk")[:1])


class SessionQuerySet(models.QuerySet["Session"]):
    def visible_to(self, user: Any) -> "SessionQuerySet":
        """Sessions that a user owns, that are shared with them, or that are in a project of theirs: where every query
        for a user's rows starts.
        """
        return self._of(user, SessionMember.objects.of_user(user), ProjectMember.objects.of_user(user))

    def writable_by(self, user: Any) -> "SessionQuerySet":
        shared, projects = SessionMember.objects.of_user(user), ProjectMember.objects.of_user(user)
        return self._of(user, shared.filter(may_write=True), projects.filter(may_write=True))

    def _of(self, user: Any, members: models.QuerySet[Any], in_projects: models.QuerySet[Any]) -> "SessionQuerySet":
        """A delegated task's session, which shows the files of its root, is open to those to whom that is. An index
        answers each of these.
        """
        shared, own = members.values("session"), Project.objects.filter(owner=user).order_by().values("pk")
        roots = Q(pk__in=shared, folder="")  # by `root=None`, SQLite would look through all roots
        mine = Q(owner=user) | roots | Q(root__in=shared)
        return self.filter(mine | Q(project__in=own) | Q(project__in=in_projects.values("project")))

    def rights(self) -> dict[uuid.UUID, dict[int, bool]]:
        """For each session, whether each person who may see it may write in it."""
        return rights_by(self.order_by().values_list(*RIGHTS))

    def started_by_people(self) -> "SessionQuerySet":
        """All but those of delegated tasks."""
        return self.filter(root=None)

    def matching(self, words: str | Sequence[Word]) -> "SessionQuerySet":
        """Those with all of the words in their title or in entries; all if there are none."""
        wanted = searched(words) if isinstance(words, str) else words
        return self.filter(has_words(wanted, _related("entries"), _related("changes"))) if wanted else self

    def behind(self) -> "SessionQuerySet":
        """Those whose newest entries have no terms yet."""
        return self.filter(is_behind())

    def with_newest_task(self) -> "SessionQuerySet":
        """Annotates `task_id`, `task_state`, `task_waiting_for` and `task_stopped`; None where there is no task. And
        whether a delegated one below waits for a person (`child_asks`).
        """
        newest = _related("tasks").order_by("-created_at")
        asking = newest.model.objects.filter(session__root=OuterRef("pk"), waiting_for__in=PERSON)
        fields = {"task_id": "pk", "task_state": "state", "task_waiting_for": "waiting_for", "task_stopped": "stopped"}
        found = {name: Subquery(newest.values(field)[:1]) for name, field in fields.items()}
        return self.annotate(**found, child_asks=Exists(asking))


class Session(models.Model):
    """`last_seq` and `chain_head` are those of its newest entry: they move in the transaction that appends it.

    `held_by` names the engine process that keeps something for it, and `held` what: it is gone when that process is.
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
        help_text="To whom the agent has handed the conversation on: until this one answers, it acts in its place.",
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
        help_text="The session that a person started, of one whose task was delegated in it or below it.",
    )
    folder = models.CharField(
        max_length=200, blank=True, editable=False, help_text="Its folder in the root's workspace: children/2."
    )
    allowed_tools = models.JSONField(
        null=True, blank=True, editable=False, help_text="Names of the only tools that its task was given."
    )
    workdir = models.CharField(
        max_length=1000, blank=True, editable=False, help_text="The folder that `run_agent` was told to work in."
    )
    summary = models.TextField(blank=True, help_text="The text of the newest result.")
    next_steps = models.JSONField(default=list, blank=True)
    last_seq = models.PositiveIntegerField(default=0)
    indexed_seq = models.PositiveIntegerField(
        default=0, editable=False, help_text="The newest entry whose terms are among the session's texts."
    )
    chain_head = models.CharField(max_length=64, blank=True)
    held_by = models.CharField(max_length=100, blank=True, editable=False)
    held = models.JSONField(default=dict, blank=True, editable=False)
    last_job = models.PositiveIntegerField(
        default=0, editable=False, help_text="The highest number of a background command; none is used again."
    )
    files_bytes = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="What workspace and home took up on disk when they were last measured."
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
        """Whether anyone but this person can read it."""
        project = self.project
        if self.owner_id != user.pk or (project and (project.owner_id != user.pk or project.memberships.exists())):
            return True
        return bool(_members_of.rows(self.root_id or self.pk))

    @property
    def acting_agent(self) -> Agent | None:
        """Whose settings hold for the next step."""
        return self.active_agent or self.agent

    @property
    def group(self) -> str:
        """The channel layer's group for what happens in this session."""
        return f"session.{self.id.hex}"

    @property
    def depth(self) -> int:
        """How many delegations it is below the session that a person started."""
        return len(self.folder.split("/")) // 2 if self.folder else 0

    @property
    def home_path(self) -> Path:
        """Of the programs that its tools run."""
        return Path(settings.HOMES_DIR) / str(self.id)

    @property
    def workspace_path(self) -> Path:
        if self.root is not None:
            return self.root.workspace_path / self.folder
        return Path(self.workdir) if self.workdir else Path(settings.WORKSPACES_DIR) / str(self.id)

    @property
    def history_path(self) -> Path:
        """Where earlier contents of its files lie; it goes with the session."""
        return Path(settings.VERSIONS_DIR) / str(self.id)


RIGHTS = ("pk", "root", "owner", "project")  # of sessions: what rights depend on


def rights_by(rows: Iterable[tuple[Any, ...]]) -> dict[uuid.UUID, dict[int, bool]]:
    """The same, of rows that begin with `RIGHTS`."""
    rows = [(pk, root or pk, owner, project) for pk, root, owner, project, *_ in rows]
    members = SessionMember.objects.rights({root for _, root, _, _ in rows})
    projects = Project.objects.rights({row[3] for row in rows if row[3]})
    return {
        pk: _any_right(members.get(root), projects.get(project), {owner: True}) for pk, root, owner, project in rows
    }


def _any_right(*rights: dict[int, bool] | None) -> dict[int, bool]:
    """Who may write by one of them may write."""
    found: dict[int, bool] = {}
    for people in filter(None, rights):
        for person, may_write in people.items():
            found[person] = found.get(person, False) or may_write
    return found


def _related(name: str) -> models.QuerySet[Any]:
    """The rows that belong to a session of the outer query, by the name of the relation: their models know this one."""
    relation: Any = Session._meta.get_field(name)
    rows: models.QuerySet[Any] = relation.related_model._default_manager.filter(session=OuterRef("pk"))
    return rows


class ShareLinkQuerySet(models.QuerySet["ShareLink"]):
    def make(self, session: Session, days: int) -> str:
        """The token of a new link, which is known now and never again."""
        token = secrets.token_urlsafe(32)
        until = timezone.now() + timedelta(days=days)
        self.create(session=session, token_sha256=_sha256(token), expires_at=until)
        return token

    def opened_by(self, token: str) -> "ShareLink | None":
        """None also where the owner's account is closed."""
        valid = self.filter(token_sha256=_sha256(token), expires_at__gt=timezone.now(), session__owner__is_active=True)
        return valid.select_related("session__owner").first()


class ShareLink(models.Model):
    """Whoever has its token reads what was said in a session, without an account, until it expires or is revoked."""

    session = models.ForeignKey(Session, models.CASCADE, related_name="links")
    token_sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    objects = ShareLinkQuerySet.as_manager()

    class Meta:
        db_table = "share_links"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"a link to {self.session}"


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()

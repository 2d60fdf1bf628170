"""Entries of the record (table `task_context`), which are appended and never change, and cuts."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from operator import or_
from types import MappingProxyType
from typing import Any

from django.contrib.auth import get_user_model
from django.db import models
from django.db.models import Q
from django.db.models.fields.json import KT

from llm_app.sql import cached_sql, fetch_first
from tasks_app.models.session import Session
from tasks_app.models.task import Task

CUT_TEXT = '{"cut":true}'
SEQ_ONCE = "entry_seq_once_per_session"


class ContextType(models.TextChoices):
    USER_MESSAGE = "user_message"
    AI_MESSAGE = "ai_message"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    SYSTEM_REMINDER = "system_reminder"
    STATUS_NOTICE = "status_notice"
    NO_TOOL_CALL_RETRY = "no_tool_call_retry"
    WORKFLOW_STEP = "workflow_step"
    HANDOFF = "handoff"
    CLIENT_HISTORY = "client_history"


def _is_within(ranges: Sequence[tuple[int, int]]) -> Q:
    return reduce(or_, (Q(seq__range=limits) for limits in ranges))


class EntryQuerySet(models.QuerySet["ContextEntry"]):
    def in_session(self, session: Session) -> "EntryQuerySet":
        return self.filter(session=session).order_by("seq")

    def after(self, seq: int) -> "EntryQuerySet":
        return self.filter(seq__gt=seq)

    def in_context(self) -> "EntryQuerySet":
        """Filter the entries that models see."""
        return self.filter(in_context=True)

    def with_call(self) -> "EntryQuerySet":
        """Filter the entries that have a call."""
        return self.exclude(tool_call__in=("", CUT_TEXT))

    def without(self, ranges: Sequence[tuple[int, int]]) -> "EntryQuerySet":
        """Exclude entries in ranges of `seq`, which include their ends."""
        return self.exclude(_is_within(ranges)) if ranges else self

    def written_by(self, person: Any) -> "EntryQuerySet":
        """Filter the person's messages and answers to questions. Their decisions on approvals do not count."""
        is_answer = Q(context_type=ContextType.TOOL_RESULT, log__approval=None)
        messages = self.filter(Q(context_type=ContextType.USER_MESSAGE) | is_answer)
        names = get_user_model().objects.filter(pk=person.pk).values("username")
        return messages.alias(author=KT("metadata__author")).filter(author__in=names)


class ContextEntry(models.Model):
    """An entry. `content`, `thinking` and `tool_call` are the texts as they were received, after redaction.

    `tool_call` is JSON of {id, name, arguments}; the arguments are the received text. It has `cut` if the call was cut
    at the output limit: then requests have only the beginning of the arguments. A cut text without a call has CUT_TEXT
    there, and requests have only its beginning. `thinking` is JSON of {text,
    protocol, model, blocks}, and of {account} if an account sealed the blocks. `images` is JSON of a list of {sha256,
    media_type, path, width, height}; the blob `sha256` holds the bytes as base64. `hash` links the entry to its
    predecessor. Only `metadata` may change later, and requests never depend on it.
    """

    session = models.ForeignKey(
        Session, models.CASCADE, related_name="entries", db_index=False
    )  # the unique constraint has an index
    task = models.ForeignKey(Task, models.CASCADE, related_name="entries")
    seq = models.PositiveIntegerField()
    context_type = models.CharField(max_length=20, choices=ContextType)
    in_context = models.BooleanField()
    role = models.CharField(max_length=10)
    content = models.TextField(blank=True)
    thinking = models.TextField(blank=True)
    tool_call = models.TextField(blank=True)
    tool_call_id = models.CharField(max_length=100, blank=True, help_text="For a result: the call that it belongs to.")
    images = models.TextField(blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField()
    log = models.ForeignObject(  # no column: it joins by the result's tool_call_id
        "ToolCallLog",
        models.DO_NOTHING,
        null=True,
        related_name="+",
        from_fields=["session", "tool_call_id"],
        to_fields=["session_id", "call_id"],
    )
    hash = models.CharField(max_length=64)
    hash_key = models.CharField(max_length=16, help_text="The id of the key that the hash was made with.")
    masked_with = models.CharField(
        max_length=16,
        blank=True,
        help_text="The version of the secrets that were redacted in it; later secrets are redacted on reading.",
    )

    objects = EntryQuerySet.as_manager()

    class Meta:
        db_table = "task_context"
        ordering = ["session", "seq"]
        verbose_name = "entry"
        verbose_name_plural = "entries"
        constraints = [
            models.UniqueConstraint(fields=["session", "seq"], name=SEQ_ONCE),
            models.UniqueConstraint(
                fields=["session", "tool_call_id"],
                condition=Q(context_type=ContextType.TOOL_RESULT),
                name="one_result_per_tool_call",
            ),
            models.CheckConstraint(condition=Q(context_type__in=ContextType.values), name="entry_type_known"),
            models.CheckConstraint(
                condition=Q(role__in=["user", "assistant", "tool", "system"]), name="entry_role_known"
            ),
            models.CheckConstraint(
                condition=Q(context_type=ContextType.TOOL_RESULT) ^ Q(tool_call_id=""),
                name="entry_result_names_its_call",
            ),
            models.CheckConstraint(
                condition=~Q(context_type=ContextType.TOOL_CALL) | ~Q(tool_call=""), name="entry_tool_call_has_a_call"
            ),
            models.CheckConstraint(condition=Q(seq__gt=0), name="entry_seq_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.seq} {self.context_type}"

    @property
    def call(self) -> dict[str, str] | None:
        """{id, name, arguments} of the call, with the received text as arguments, or None."""
        return dict(_parsed_call(self.tool_call)) if self.has_call else None

    @property
    def has_call(self) -> bool:
        """Return whether the entry has a call. Does not parse it."""
        return self.tool_call not in ("", CUT_TEXT)

    @property
    def is_cut(self) -> bool:
        """Return whether the entry is a call, or a text without one, that was cut at the output limit."""
        return self.tool_call.endswith('"cut":true}')  # quotes in arguments are escaped

    @property
    def pictures(self) -> list[dict[str, Any]]:
        """A list of {sha256, media_type, path, width, height}."""
        return json.loads(self.images) if self.images else []

    @property
    def thought(self) -> str:
        """The text of the thinking."""
        return str(json.loads(self.thinking)["text"]) if self.thinking else ""

    @property
    def arguments(self) -> Any:
        """The call's arguments, parsed if they are valid JSON, else as text."""
        if (call := self.call) is None:
            return None
        try:
            return json.loads(call["arguments"])
        except (ValueError, RecursionError):
            return call["arguments"]


@lru_cache(maxsize=64)
def _parsed_call(tool_call: str) -> Mapping[str, str]:
    """Parse a call. Cached: a step reads its newest call several times."""
    call = json.loads(tool_call)
    call.pop("cut", None)
    return MappingProxyType(call)


class Cause(models.TextChoices):
    FILLED = "filled", "The window was nearly full"
    REFUSED = "refused", "The provider refused the request as too long"


class ContextCutQuerySet(models.QuerySet["ContextCut"]):
    def in_session(self, session: Session) -> "ContextCutQuerySet":
        """Filter the session's cuts, newest first. The first cut of a window is the one in force."""
        return self.filter(session=session).order_by("-pk")

    def without(self, ranges: Sequence[tuple[int, int]]) -> "ContextCutQuerySet":
        """Exclude cuts in ranges of `seq`: their text has entries that are left out."""
        return self.exclude(_is_within(ranges)) if ranges else self

    @cached_sql
    def newest_in(self, session: Any) -> "ContextCut | None":
        return fetch_first(self.in_session(session))


class ContextCut(models.Model):
    """A cut of a session for models of one window. `blob` is the address of its text, in the form of `Cut.text`.

    The text replaces all entries up to `seq`. `masked_with` is the version of the secrets redacted in it. `summary_seq`
    is the entry with a model's summary of the replaced entries, for agents that ask for one.
    """

    session = models.ForeignKey(Session, models.CASCADE, related_name="cuts")
    task = models.ForeignKey(Task, models.CASCADE, related_name="cuts")
    window = models.PositiveIntegerField(help_text="The model's window, in tokens.")
    seq = models.PositiveIntegerField()
    blob = models.CharField(max_length=64)
    masked_with = models.CharField(max_length=16, blank=True)
    summary_seq = models.PositiveIntegerField(null=True, blank=True)
    cause = models.CharField(max_length=7, choices=Cause)
    tokens_before = models.PositiveIntegerField(help_text="The size of the whole request.")
    tokens_after = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ContextCutQuerySet.as_manager()

    class Meta:
        db_table = "context_cuts"
        ordering = ["-pk"]
        verbose_name = "cut"
        indexes = [models.Index(fields=["session", "window", "-id"], name="newest_cut_of_a_window")]
        constraints = [models.CheckConstraint(condition=Q(cause__in=Cause.values), name="context_cut_cause_known")]

    def __str__(self) -> str:
        return f"cut after entry {self.seq} of {self.session}"

"""Rows for tests. Only `append` creates entries of the record, as everywhere."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import factory
from django.contrib.auth import get_user_model
from django.db import transaction
from factory.django import DjangoModelFactory

from llm_app import stored_prompt
from llm_app.adapters.base import RouteParameters
from llm_app.models import LLMLog, LogicalModel, Provider, Route
from llm_app.protocols import adapter_of
from llm_app.types import Message, Prompt
from tasks_app.models import ContextEntry, Session, SessionMember, Task
from tasks_app.record import Draft
from tasks_app.record import append as writer


class UserFactory(DjangoModelFactory[Any]):
    class Meta:
        model = get_user_model()
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"user{n}")
    password = factory.django.Password("a password")


class ProviderFactory(DjangoModelFactory[Provider]):
    class Meta:
        model = Provider

    name = factory.Sequence(lambda n: f"provider{n}")
    protocol = "scripted"


class LogicalModelFactory(DjangoModelFactory[LogicalModel]):
    class Meta:
        model = LogicalModel

    name = factory.Sequence(lambda n: f"model{n}")


class RouteFactory(DjangoModelFactory[Route]):
    class Meta:
        model = Route

    model = factory.SubFactory(LogicalModelFactory)
    provider = factory.SubFactory(ProviderFactory)
    provider_model = "script"


class SessionFactory(DjangoModelFactory[Session]):
    class Meta:
        model = Session

    owner = factory.SubFactory(UserFactory)


class MemberFactory(DjangoModelFactory[SessionMember]):
    class Meta:
        model = SessionMember

    session = factory.SubFactory(SessionFactory)
    user = factory.SubFactory(UserFactory)


class TaskFactory(DjangoModelFactory[Task]):
    class Meta:
        model = Task

    session = factory.SubFactory(SessionFactory)
    started_by = factory.SelfAttribute("session.owner")


def scripted_model(name: str) -> LogicalModel:
    """Return the logical model that answers with the scripted provider's model `name`."""
    model: LogicalModel = RouteFactory(provider_model=name).model
    return model


def log(at: datetime | None = None, **fields: Any) -> LLMLog:
    """Return the log of an answered call."""
    values = {"purpose": "step", "adapter": "x", "adapter_version": 1, "request_bytes": 1, "status": "succeeded"}
    row = LLMLog.objects.create(**values | fields)
    if at is not None:
        LLMLog.objects.filter(pk=row.pk).update(created_at=at)
    return row


def kept_call(session: Session, words: str = "Hello.") -> LLMLog:
    """Return the log of a call outside the conversation, whose request can be rebuilt."""
    prompt = Prompt(system="Be brief.", tools=(), messages=[Message(role="user", content=words)])
    references = stored_prompt.store_prompt(prompt).references
    parameters = RouteParameters(model="m", max_tokens=100)
    body = adapter_of("openai_native", 1).body(prompt, parameters)
    return log(
        session_id=session.pk,
        adapter="openai_native",
        system_blob=references.system_blob,
        messages_blob=references.messages_blob,
        parameters=parameters.as_json(),
        request_sha256=hashlib.sha256(body).hexdigest(),
        request_bytes=len(body),
    )


def append(task: Task, *drafts: Draft) -> Sequence[ContextEntry]:
    with transaction.atomic():
        return writer.append_entries(task.session, task, drafts)

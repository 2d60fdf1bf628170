"""Commits are composed from a worker's knowledge. If that is outdated, they are composed again under the lock."""

import gc
import weakref
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.transaction import TransactionManagementError
from django.forms.models import model_to_dict

from llm_app.models import LLMLog, Secret
from llm_app.sql import InsertRows, execute, save
from tasks_app.models import CallStatus, ContextEntry, ContextType, Limits, Session, Task, ToolCallLog
from tasks_app.record import Draft, lock, notice
from tasks_app.replay import verification
from tasks_app.run import TaskContext
from tasks_app.runtime import lease, process
from tasks_app.workspace.folders import sandbox, workspace_of
from tests import factories
from tools_app import held_resources


@pytest.fixture
def context(owner: Any) -> TaskContext:
    """The context of a worker that holds a task and knows its session."""
    session = factories.SessionFactory(owner=owner, model=factories.scripted_model("script"))
    task = factories.TaskFactory(session=session, state="thinking", lease_owner=process.name())
    factories.append(task, Draft(context_type=ContextType.USER_MESSAGE, content="Begin."))
    held = Task.objects.select_related("session").get(pk=task.pk)
    context = TaskContext(held, workspace_of(session), sandbox())
    context.secrets.refresh(context.snapshot(fresh=True).version)
    return context


def log_of(context: TaskContext, call_id: str = "c1") -> ToolCallLog:
    return ToolCallLog(
        task=context.task, session_id=context.session.pk, call_id=call_id, name="file", status=CallStatus.PENDING
    )


def llm_log() -> LLMLog:
    return LLMLog(
        purpose="step",
        adapter="x",
        adapter_version=1,
        request_bytes=7,
        status="succeeded",
        parameters={"ö": [1.5, None]},
        cost_usd=Decimal("0.00000007"),
    )


def said(context: TaskContext) -> list[str]:
    return [entry.content for entry in ContextEntry.objects.in_session(context.session)]


@pytest.mark.django_db(transaction=True)
def test_followers_are_notified_once_per_commit(context: TaskContext, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr("tasks_app.runtime.broadcast._hint", lambda session, hint: told.append(hint["type"]))
    context.commit(notice("The provider fails; it is asked again."))
    context.commit(notice("It has answered."), state="executing_tool")
    context.commit(calls_made=1)
    assert told == ["entry", "state"]


@pytest.mark.django_db(transaction=True)
def test_no_lock_is_taken_outside_a_transaction(session: Session) -> None:
    with pytest.raises(TransactionManagementError):
        lock(session)
    with transaction.atomic():
        assert lock(session).seq == 0


def test_entries_of_others_come_first(context: TaskContext) -> None:
    factories.append(context.task, notice("From elsewhere."))
    context.stage(rows=[log_of(context)])
    context.commit(notice("From the worker."))
    context.commit(notice("And more."))
    assert said(context) == ["Begin.", "From elsewhere.", "From the worker.", "And more."]
    assert ToolCallLog.objects.count() == 1
    assert verification.of_session(context.session).is_whole


def test_new_secrets_are_redacted_in_the_commit(context: TaskContext) -> None:
    Secret.objects.create(name="KEY", value="correct-horse-battery")
    log = log_of(context)
    context.stage(rows=[log])
    context.commit(notice("It is correct-horse-battery."), plan=[{"title": "correct-horse-battery", "status": "open"}])
    assert "correct-horse" not in said(context)[-1]
    assert "correct-horse" not in str(Task.objects.get(pk=context.task.pk).plan)
    assert ToolCallLog.objects.get() == log


def test_a_changed_setting_loses_nothing_of_a_commit(context: TaskContext) -> None:
    Limits.objects.create(pk=1, max_iterations=3)
    context.stage(rows=[log_of(context)])
    context.commit(notice("One."))
    assert said(context)[-1] == "One."
    assert ToolCallLog.objects.count() == 1


def test_a_failed_commit_can_be_repeated(context: TaskContext) -> None:
    context.stage(rows=[log_of(context)])
    with pytest.raises(ZeroDivisionError):
        context.commit(notice("One."), extra_write=lambda: 1 / 0)
    assert (said(context), ToolCallLog.objects.count()) == (["Begin."], 0)
    context.commit(notice("One."))
    assert (said(context), ToolCallLog.objects.count()) == (["Begin.", "One."], 1)


def test_a_duplicate_row_is_not_retried(context: TaskContext) -> None:
    """A duplicate row is no lost race, so `extra_write` does not run again."""
    tries: list[bool] = []

    def twice() -> None:
        tries.append(True)
        log_of(context).save()

    context.stage(rows=[log_of(context)])
    with pytest.raises(IntegrityError):
        context.commit(notice("One."), extra_write=twice)
    assert len(tries) == 1
    assert (said(context), ToolCallLog.objects.count()) == (["Begin."], 0)


def test_a_row_of_another_worker_means_a_lost_lease(context: TaskContext) -> None:
    log_of(context).save()
    Task.objects.filter(pk=context.task.pk).update(epoch=7)
    context.stage(rows=[log_of(context)])
    with pytest.raises(lease.StaleLease):
        context.commit(calls_made=1)


@pytest.mark.parametrize("lost", [{}, {"page": "the old page"}])
def test_held_resources_are_stored_after_a_failed_commit(
    context: TaskContext, monkeypatch: pytest.MonkeyPatch, lost: dict[str, str]
) -> None:
    context.session.held = lost
    context = TaskContext(context.task, context.workspace, context.sandbox)
    monkeypatch.setattr(held_resources, "resources_of", lambda session: {"job": "a job"})
    told = Draft(context_type=ContextType.TOOL_RESULT, content="Opened.", tool_call_id="c1")
    with pytest.raises(ZeroDivisionError):
        context.commit(told, extra_write=lambda: 1 / 0)
    context.commit(told)
    row = Session.objects.get(pk=context.session.pk)
    assert (row.held, row.held_by) == ({"job": "a job"}, process.name())
    assert ("Gone: the old page." in said(context)[-1]) == bool(lost)


def test_without_the_lease_nothing_is_written(context: TaskContext) -> None:
    Task.objects.filter(pk=context.task.pk).update(epoch=7)
    context.stage(rows=[log_of(context)])
    with pytest.raises(lease.StaleLease):
        context.commit(notice("One."))
    assert (said(context), ToolCallLog.objects.count()) == (["Begin."], 0)


def test_statements_store_the_same_values_as_the_orm(context: TaskContext) -> None:
    rows: list[Any] = [log_of(context, "c2"), llm_log()]
    twins: list[Any] = [log_of(context, "c3"), llm_log()]
    for row, twin in zip(rows, twins, strict=True):
        execute([save(row)])
        twin.save()
        stored, other = type(row).objects.get(pk=row.pk), type(row).objects.get(pk=twin.pk)
        assert model_to_dict(stored, exclude=["id", "call_id"]) == model_to_dict(other, exclude=["id", "call_id"])
    rows[0].status = CallStatus.FAILED
    execute([save(rows[0])])
    assert ToolCallLog.objects.get(pk=rows[0].pk).status == "failed"
    execute([InsertRows([log_of(context, "c4"), log_of(context, "c5")])])
    assert ToolCallLog.objects.count() == 4
    assert LLMLog.objects.count() == 2


@pytest.mark.django_db
def test_an_ended_task_is_freed_immediately(owner: Any) -> None:
    """The garbage collector comes too late: until then, pipes stay open, and the memory of a hundred tasks in use."""
    task = factories.TaskFactory(session=factories.SessionFactory(owner=owner), lease_owner=process.name())
    held = TaskContext(task, workspace_of(task.session), sandbox())
    assert not held.interruption.wait(0.0)
    kept = weakref.ref(held), weakref.ref(held.interruption)
    gc.disable()
    try:
        del held
        assert [one() for one in kept] == [None, None]
    finally:
        gc.enable()

"""Functions with `@cached_sql` return the rows that their querysets return."""

from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError
from django.forms.models import model_to_dict

from llm_app.sql import cached_sql, fetch_all, fetch_first, update_all
from tasks_app.models import ContextEntry, ContextType, Session, Task
from tasks_app.record import Draft, notice
from tests import factories


@pytest.fixture
def task(alice: Any) -> Task:
    session = factories.SessionFactory(owner=alice, model=factories.scripted_model("script"))
    task: Task = factories.TaskFactory(session=session)
    factories.append(task, Draft(context_type=ContextType.USER_MESSAGE, content="Begin."), notice("Something."))
    return task


@cached_sql
def entries_of_types(session: Any, types: Any) -> list[ContextEntry]:
    return fetch_all(ContextEntry.objects.in_session(session).filter(context_type__in=types))


@pytest.mark.parametrize("types", [[], ["user_message"], ["user_message", "status_notice"], ["user_message"] * 3])
def test_rows_are_those_of_the_queryset(task: Task, types: list[str]) -> None:
    expected = ContextEntry.objects.in_session(task.session).filter(context_type__in=types)
    for session in (task.session, task.session_id, task.session):
        rows = entries_of_types(session, types)
        assert list(map(model_to_dict, rows)) == list(map(model_to_dict, expected))


def test_related_rows_are_set(task: Task) -> None:
    @cached_sql
    def related(pk: Any) -> Task | None:
        return fetch_first(Task.objects.filter(pk=pk).select_related("session__model", "agent_version"))

    row, expected = related(task.pk), Task.objects.select_related("session__model").get()
    assert row is not None
    assert row.session.model == expected.session.model
    assert model_to_dict(row.session) == model_to_dict(expected.session)
    assert row.agent_version is None
    assert (row._state.adding, row._state.db) == (False, "default")


def test_deferred_fields_are_read_later(task: Task) -> None:
    @cached_sql
    def states() -> list[Task]:
        return fetch_all(Task.objects.only("state"))

    (row,) = states()
    assert row.get_deferred_fields() == Task.objects.only("state").get().get_deferred_fields()
    assert row.plan == task.plan


def test_values_are_tuples_or_flat(task: Task) -> None:
    @cached_sql
    def values(pk: Any) -> Any:
        return fetch_first(Task.objects.filter(pk=pk).values_list("session", "plan", "created_at"))

    @cached_sql
    def keys() -> Any:
        return fetch_all(Task.objects.values_list("pk", flat=True))

    assert values(task.pk) == (task.session_id, task.plan, task.created_at)
    assert values(task.session_id) is None
    assert keys() == [task.pk]


def test_none_is_null(task: Task) -> None:
    @cached_sql
    def below(root: Any) -> list[Session]:
        return fetch_all(Session.objects.filter(root=root))

    assert below(task.session) == []
    assert below(None) == [task.session]


def test_rows_are_updated(task: Task) -> None:
    @cached_sql
    def count_handoffs(pk: Any, number: int) -> int:
        return update_all(Task.objects.filter(pk=pk), handoffs=number)

    for number in (1, 2):
        assert count_handoffs(task.pk, number) == 1
        assert Task.objects.get().handoffs == number
    assert count_handoffs(task.session_id, 3) == 0


def test_sql_is_compiled_once(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Task.objects.active_in(task.session) == task
    monkeypatch.setattr(SQLCompiler, "as_sql", None)
    for _ in range(2):
        assert Task.objects.active_in(task.session) == task


def test_a_queryset_with_conditions_keeps_them(task: Task, alice: Any) -> None:
    other = factories.SessionFactory(owner=alice)
    assert Task.objects.active_in(task.session) == task
    assert Task.objects.filter(state="done").active_in(task.session) is None
    assert task.session.tasks.active_in(task.session) == task
    assert other.tasks.active_in(task.session) is None


@pytest.mark.django_db(transaction=True)
def test_rows_are_locked_in_a_transaction_only(task: Task) -> None:
    @cached_sql
    def locked(pk: Any) -> Session | None:
        return fetch_first(Session.objects.select_for_update().filter(pk=pk))

    with pytest.raises(TransactionManagementError):
        locked(task.session_id)
    with transaction.atomic():
        assert locked(task.session_id) == task.session
    assert not connection.in_atomic_block

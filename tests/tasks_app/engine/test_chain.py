"""The hash chain of a session names the first changed entry, regardless of the writer."""

from typing import Any

import pytest
from django.db import connection

from llm_app.types import Thinking, ToolCall
from tasks_app.models import ContextEntry, ContextType, Session, Task
from tasks_app.record import Draft, notice
from tasks_app.record.draft import result
from tasks_app.replay.verification import fault_in
from tests import factories

COLUMNS = {
    "seq": "5",
    "context_type": "'system_reminder'",
    "in_context": "NOT in_context",
    "role": "'system'",
    "content": "'I never said that.'",
    "thinking": "thinking || ' '",
    "tool_call": "REPLACE(tool_call, 'ls', 'rm')",
    "tool_call_id": "'call_2'",
    "images": "'[]'",
    "created_at": "'2020-01-01 00:00:00'",
    "hash": "'' || REPLACE(hash, '1', '2')",
    "hash_key": "'another'",
}


@pytest.fixture
def told(session: Session) -> Session:
    """Four entries with every kind of content."""
    task = factories.TaskFactory(session=session, state="thinking")
    call = ToolCall(id="call_1", name="shell", arguments='{"command": "ls"}')
    factories.append(task, Draft(context_type=ContextType.USER_MESSAGE, content="Look around."))
    factories.append(
        task,
        Draft(context_type=ContextType.TOOL_CALL, tool_call=call, thinking=Thinking(text="Well …"), content="So: "),
        result("call_1", "a.txt", "succeeded"),
        notice("Not seen by the model."),
    )
    return session


def fault(session: Session) -> str:
    session.refresh_from_db()
    return fault_in(session, ContextEntry.objects.in_session(session))


def sql(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount > 0


def test_an_untouched_record_is_valid(told: Session) -> None:
    assert fault(told) == ""


def test_an_empty_session_is_valid(session: Session) -> None:
    assert fault(session) == ""


@pytest.mark.parametrize("column", COLUMNS)
def test_a_change_of_any_column_breaks_the_chain_there(told: Session, column: str) -> None:
    kind = "tool_result" if column == "tool_call_id" else "tool_call"
    sql(f"UPDATE task_context SET {column} = {COLUMNS[column]} WHERE context_type = %s", kind)
    assert f"entry {3 if kind == 'tool_result' else 2}" in fault(told)


def test_an_entry_of_another_task_breaks_it(told: Session) -> None:
    other = factories.TaskFactory(session=told, state="failed", failure_code="internal", ended_at="2026-01-01T00:00Z")
    ContextEntry.objects.filter(seq=2).update(task=other)
    assert "entry 2" in fault(told)


def test_metadata_is_not_covered_by_the_chain(told: Session) -> None:
    ContextEntry.objects.filter(seq=2).update(metadata={"steps": []})
    assert fault(told) == ""


def test_a_missing_row_in_the_middle_is_named(told: Session) -> None:
    sql("DELETE FROM task_context WHERE seq = 3")
    assert fault(told) == "The chain is broken at entry 3: it is missing."


def test_a_renumbered_gap_is_named(told: Session) -> None:
    sql("DELETE FROM task_context WHERE seq = 3")
    sql("UPDATE task_context SET seq = 3 WHERE seq = 4")
    sql("UPDATE sessions SET last_seq = 3")
    assert "entry 3" in fault(told)


def test_a_missing_tail_is_named(told: Session) -> None:
    sql("DELETE FROM task_context WHERE seq > 2")
    assert fault(told) == "The tail is missing: entries 3 to 4."


def test_two_swapped_entries_are_named(told: Session) -> None:
    for old, new in ((1, 99), (4, 1), (99, 4)):
        sql("UPDATE task_context SET seq = %s WHERE seq = %s", new, old)
    assert "entry 1" in fault(told)


@pytest.mark.parametrize("head", ["", "f" * 64])
def test_a_changed_head_is_named(told: Session, head: str) -> None:
    sql("UPDATE sessions SET chain_head = %s", head)
    assert "head" in fault(told)


def test_a_tail_cut_off_with_the_heads_number_is_named(told: Session) -> None:
    sql("DELETE FROM task_context WHERE seq > 2")
    sql("UPDATE sessions SET last_seq = 2")
    assert "head" in fault(told)


def test_an_entry_moved_into_another_session_breaks_both(told: Session) -> None:
    other = factories.SessionFactory(owner=told.owner, last_seq=1, chain_head="f" * 64)
    ContextEntry.objects.filter(seq=1).update(session=other)
    assert "entry 1" in fault(told)
    assert "head" in fault(other)


def test_entries_of_an_earlier_key_are_valid_while_the_key_is_kept(told: Session, settings: Any) -> None:
    old = settings.FIELD_ENCRYPTION_KEY
    settings.FIELD_ENCRYPTION_KEY = f"bmV3ZXIgbmV3ZXIgbmV3ZXIgbmV3ZXIgbmV3ZXIgbmU=,{old}"
    factories.append(Task.objects.get(), notice("By the new key."))
    assert fault(told) == ""
    settings.FIELD_ENCRYPTION_KEY = "bmV3ZXIgbmV3ZXIgbmV3ZXIgbmV3ZXIgbmV3ZXIgbmU="
    assert "not in FIELD_ENCRYPTION_KEY" in fault(told)


def test_entries_appended_during_the_check_are_ignored(told: Session) -> None:
    told.refresh_from_db()
    factories.append(Task.objects.get(), notice("Meanwhile."))
    assert fault_in(told, ContextEntry.objects.in_session(told)) == ""

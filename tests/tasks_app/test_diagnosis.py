"""Reasons why a task makes no progress, on the page and in `doctor`."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from llm_app.models import BreakerState, CircuitBreaker, Secret
from tasks_app.models import Approval, ContextType, EngineProcess, Task, ToolCallLog
from tasks_app.record import Draft
from tasks_app.services import diagnosis
from tasks_app.services.diagnosis import ReasonKind
from tests import factories

NOW = timezone.now()
AGO = NOW - timedelta(hours=1)


def worker(name: str = "host:1", seen_at: Any = None) -> EngineProcess:
    return EngineProcess.objects.create(name=name, seen_at=seen_at or timezone.now())


def task_in(session: Any, **fields: Any) -> Task:
    task: Task = factories.TaskFactory(session=session, **fields)
    Task.objects.filter(pk=task.pk).update(created_at=AGO)
    return Task.objects.select_related("session__model").get(pk=task.pk)


def reason(task: Task) -> tuple[str, str]:
    first = diagnosis.reasons(task)[0]
    return str(first.kind), first.sentence


def leased(**fields: Any) -> dict[str, Any]:
    return {"state": "thinking", "lease_owner": "host:1", "lease_expires_at": NOW + timedelta(hours=1), **fields}


def test_missing_worker(session: Any) -> None:
    task = task_in(session)
    assert reason(task) == (ReasonKind.FAULT, "No worker is running.")
    assert [stuck.pk for stuck in diagnosis.stuck_tasks()] == [task.pk]


def test_waiting_for_a_free_worker(session: Any) -> None:
    worker()
    assert reason(task_in(session))[1] == "It waits for a free worker."


def test_waiting_for_the_worker_with_the_browser_page(session: Any) -> None:
    worker("other:2")
    session.held_by, session.held = "other:2", {"browser": "the browser's page"}
    session.save()
    assert reason(task_in(session)) == (
        ReasonKind.NORMAL,
        "It waits for the worker that holds this for the session: the browser's page.",
    )


def test_dead_worker_is_named(session: Any) -> None:
    worker("other:2")
    task = task_in(session, **leased(lease_expires_at=AGO))
    assert reason(task)[0] == ReasonKind.FAULT
    assert "has stopped responding" in reason(task)[1]
    assert diagnosis.reasons(task)[0].process == "host:1"
    assert [stuck.pk for stuck in diagnosis.stuck_tasks()] == [task.pk]


def test_late_stop_is_a_fault(session: Any) -> None:
    worker()
    task = task_in(session, **leased(stop_requested_at=AGO))
    assert reason(task) == (ReasonKind.FAULT, "Somebody has stopped it, and its worker has not ended it yet.")
    assert [stuck.pk for stuck in diagnosis.stuck_tasks()] == [task.pk]


def test_running_tool_and_paused_provider_are_named(session: Any) -> None:
    worker()
    task = task_in(session, **leased())
    provider = session.model.routes.get().provider
    CircuitBreaker.objects.create(
        provider=provider, state=BreakerState.OPEN, forced=True, probe_at=NOW + timedelta(hours=1)
    )
    assert reason(task)[1] == f"The model is working. Calls to {provider.name} are paused after failures."
    ToolCallLog.objects.create(
        task=task, session_id=session.pk, call_id="c", name="shell", fingerprint="f", status="started"
    )
    assert reason(task) == (ReasonKind.NORMAL, "The tool shell is running.")


def test_newest_notice_is_the_reason(session: Any) -> None:
    worker()
    task = task_in(session, **leased())
    factories.append(task, Draft(context_type=ContextType.STATUS_NOTICE, content="Trying again in 32 s."))
    assert reason(task)[1] == "Trying again in 32 s."
    assert diagnosis.stuck_tasks() == []


def test_reasons_are_redacted_with_current_secrets(session: Any) -> None:
    worker()
    task = task_in(session, **leased())
    factories.append(task, Draft(context_type=ContextType.STATUS_NOTICE, content="Refused: key s3cr3t-value."))
    Secret.objects.create(owner=session.owner, name="KEY", value="s3cr3t-value")
    assert "s3cr3t-value" not in reason(task)[1]


def test_only_operators_see_process_names(session: Any, client: Any, alice: Any) -> None:
    task_in(session, **leased(lease_expires_at=AGO))
    client.force_login(alice)
    assert "host:1" not in client.get(f"/s/{session.pk}/why/").content.decode()
    alice.user_permissions.add(Permission.objects.get(codename="view_engineprocess"))
    assert "(host:1)" in client.get(f"/s/{session.pk}/why/").content.decode()


def test_approval_shows_its_expiry(session: Any) -> None:
    task = task_in(session, state="executing_tool", waiting_for="approval")
    log = ToolCallLog.objects.create(
        task=task, session_id=session.pk, call_id="c", name="shell", fingerprint="f", status="waiting"
    )
    end = timezone.now() + timedelta(days=1)
    Approval.objects.create(tool_call=log, fingerprint="f", reason="deletes", expires_at=end)
    kind, sentence = reason(task)
    assert (kind, sentence) == (
        ReasonKind.PERSON,
        f"A call of shell waits for approval. It is rejected on {end:%-d %B at %H:%M} UTC.",
    )
    assert diagnosis.stuck_tasks() == []


@pytest.mark.parametrize("fields", [{}, {"crashes": 2}])
def test_question_waits_for_a_person(session: Any, fields: dict[str, Any]) -> None:
    assert "asked a question" in reason(task_in(session, state="executing_tool", waiting_for="reply", **fields))[1]


def test_page_requires_access_to_the_session(session: Any, client: Any, alice: Any, charlie: Any) -> None:
    task = task_in(session)
    client.force_login(alice)
    page = client.get(f"/s/{session.pk}/why/").content.decode()
    assert "No worker is running." in page
    assert str(task.pk) in page
    assert f"/s/{session.pk}/why/" in client.get(f"/s/{session.pk}/").content.decode()
    client.force_login(charlie)
    assert client.get(f"/s/{session.pk}/why/").status_code == 404


def test_session_without_a_task(client: Any, alice: Any) -> None:
    client.force_login(alice)
    session = factories.SessionFactory(owner=alice)
    assert "no task yet" in client.get(f"/s/{session.pk}/why/").content.decode()


def test_queued_task_shows_its_position_and_is_not_stuck(session: Any, settings: Any) -> None:
    settings.MAX_RUNNING = 0
    task = task_in(session)
    worker()
    assert reason(task)[1].endswith("It is number 1 in the queue.")
    assert diagnosis.stuck_tasks() == []

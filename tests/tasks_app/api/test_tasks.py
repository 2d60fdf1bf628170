"""Tasks over REST: their fields, and decisions of people."""

from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from tasks_app.models import Approval, ContextEntry, Task
from tasks_app.record.draft import result
from tasks_app.worker import jobs
from tests import factories
from tests.tasks_app.engine.conftest import call, script
from tests.tasks_app.engine.conftest import result as the_result

FINAL = {"text": "Done.", "data": {"a": 1}, "attachments": ["a.txt"], "suggestions": ["Go on"]}
QUERIES = ("", "?state=thinking", "?state=done", "?state=")


def test_new_task_has_all_fields(alices, task):
    shown = alices.call("GET", f"tasks/{task.pk}/").json()
    assert shown.pop("created_at")
    assert shown == {
        "id": str(task.pk),
        "session": str(task.session_id),
        "agent": None,
        "parent": None,
        "children": [],
        "state": "thinking",
        "waiting_for": None,
        "silence": None,
        "queue_position": None,
        "failure": None,
        "stopped": False,
        "iteration": 0,
        "pending": None,
        "workflow": None,
        "plan": [],
        "usage": {"input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "thinking_tokens": 0},
        "cost_usd": None,
        "output_schema": None,
        "final_result": None,
        "ended_at": None,
    }


def test_failed_task_has_a_reason(alices, session):
    ended = datetime.now(UTC)
    failed = factories.TaskFactory(
        session=session, state="failed", failure_code="stopped", failure_detail="Stopped.", stopped=True, ended_at=ended
    )
    shown = alices.call("GET", f"tasks/{failed.pk}/").json()
    assert shown["failure"] == {"code": "stopped", "detail": "Stopped."}
    assert shown["stopped"] is True
    assert shown["ended_at"]


def test_finished_task_has_result_usage_and_cost(alices, session):
    done = factories.TaskFactory(
        session=session,
        state="done",
        ended_at=datetime.now(UTC),
        final_result=FINAL,
        plan=[{"title": "Look", "status": "done"}],
        input_tokens=100,
        cost_usd=Decimal("0.0125"),
    )
    shown = alices.call("GET", f"tasks/{done.pk}/").json()
    assert (shown["final_result"], shown["cost_usd"], shown["usage"]["input_tokens"]) == (FINAL, 0.0125, 100)
    assert shown["plan"] == [{"title": "Look", "status": "done"}]


def test_waiting_question_is_shown_with_its_options(alices, asking):
    shown = alices.call("GET", f"tasks/{asking.pk}/").json()
    assert (shown["state"], shown["waiting_for"]) == ("executing_tool", "reply")
    arguments = {"type": "ask", "text": "Which colour?", "options": ["red", "blue"]}
    assert shown["pending"].pop("reason")
    assert shown["pending"] == {
        "id": "call_1",
        "name": "message",
        "arguments": arguments,
        "kind": "reply",
        "text": "Which colour?",
        "options": ["red", "blue"],
        "danger": None,
    }


def test_waiting_approval_is_shown_with_its_reason(alices, approving):
    assert alices.call("GET", f"tasks/{approving.pk}/").json()["pending"] == {
        "id": "call_1",
        "name": "shell",
        "arguments": {"command": "rm -rf build"},
        "kind": "approval",
        "reason": "deletes a folder",
        "text": None,
        "options": None,
        "danger": "dangerous",
    }


def test_list_is_filtered_by_session_and_state(alices, alice, task):
    other = factories.TaskFactory(session=factories.SessionFactory(owner=alice))
    ids = {str(task.pk), str(other.pk)}
    found = {query: {row["id"] for row in alices.call("GET", f"tasks/{query}").json()["results"]} for query in QUERIES}
    assert found == {
        "": ids,
        "?state=thinking": {str(task.pk)},
        "?state=done": set(),
        "?state=": ids,
    }
    of_session = alices.call("GET", f"tasks/?session={other.session_id}").json()["results"]
    assert [row["id"] for row in of_session] == [str(other.pk)]


# --- decisions of people ----------------------------------------------------------------------------------------------


def test_question_is_answered_once(alices, asking):
    answer = alices.call("POST", f"tasks/{asking.pk}/reply/", {"content": "Blue"})
    assert (answer.status_code, answer.json()["waiting_for"], answer.json()["pending"]) == (200, None, None)
    assert ContextEntry.objects.get(tool_call_id="call_1").content == "Blue"
    second = alices.call("POST", f"tasks/{asking.pk}/reply/", {"content": "Red"})
    assert second.status_code == 409
    assert ContextEntry.objects.filter(tool_call_id="call_1").count() == 1


def test_approval_is_given_once(alices, approving, alice):
    path = f"tasks/{approving.pk}/approval/"
    answer = alices.call("POST", path, {"decision": "approve", "scope": "task", "note": "Fine."})
    assert (answer.status_code, answer.json()["waiting_for"]) == (200, None)
    approval = Approval.objects.get()
    assert (approval.decision, approval.scope, approval.note, approval.decided_by) == (
        "approved",
        "task",
        "Fine.",
        alice,
    )
    assert alices.call("POST", path, {"decision": "reject"}).status_code == 409
    assert Approval.objects.get().decision == "approved"


def test_rejection_is_the_result_of_the_call(alices, approving):
    answer = alices.call("POST", f"tasks/{approving.pk}/approval/", {"decision": "reject", "note": "Keep it."})
    assert answer.status_code == 200
    entry = ContextEntry.objects.get(tool_call_id="call_1")
    assert entry.metadata["status"] == "rejected"
    assert "Keep it." in entry.content


def test_answer_of_the_wrong_kind_is_409(alices, asking):
    assert alices.call("POST", f"tasks/{asking.pk}/approval/", {"decision": "approve"}).status_code == 409
    assert alices.call("GET", f"tasks/{asking.pk}/").json()["waiting_for"] == "reply"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("reply", {}, "content"),
        ("reply", {"content": "  "}, "content"),
        ("reply", {"content": 1}, "content"),
        ("approval", {}, "decision"),
        ("approval", {"decision": "approved"}, "decision"),
        ("approval", {"decision": "approve", "scope": "ever"}, "scope"),
        ("approval", {"decision": "approve", "note": "x" * 10_001}, "note"),
    ],
)
def test_invalid_answer_is_422_and_the_task_still_waits(path, body, field, alices, asking):
    answer = alices.call("POST", f"tasks/{asking.pk}/{path}/", body)
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [field])
    assert alices.call("GET", f"tasks/{asking.pk}/").json()["waiting_for"] == "reply"


def test_reply_over_the_limit_is_413(alices, asking):
    answer = alices.call("POST", f"tasks/{asking.pk}/reply/", {"content": "x" * (1024 * 1024 + 1)})
    assert answer.status_code == 413


def test_stop_works_in_every_state(alices, asking):
    for _ in range(2):
        assert alices.call("POST", f"tasks/{asking.pk}/stop/").status_code == 200
    asking.refresh_from_db()
    assert asking.stop_requested_at
    Task.objects.filter(pk=asking.pk).update(state="done", final_result=FINAL, ended_at=datetime.now(UTC))
    factories.append(asking, result("call_1", "Blue", "succeeded"))
    answer = alices.call("POST", f"tasks/{asking.pk}/stop/")
    assert (answer.status_code, answer.json()["state"]) == (200, "done")


# --- with the engine --------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_task_passes_question_and_approval_to_its_result(alices, session):
    dangerous = call("shell", command="git push --force")
    words = script(call("message", type="ask", text="Shall I?", options=["Yes"]), dangerous, the_result("All done."))
    task = alices.call("POST", f"sessions/{session.pk}/messages/", {"content": words}).json()["task"]

    jobs.advance(UUID(task))
    assert alices.call("GET", f"tasks/{task}/").json()["pending"]["options"] == ["Yes"]
    alices.call("POST", f"tasks/{task}/reply/", {"content": "Yes"})
    jobs.advance(UUID(task))
    pending = alices.call("GET", f"tasks/{task}/").json()["pending"]
    assert (pending["kind"], pending["danger"], pending["arguments"]) == (
        "approval",
        "dangerous",
        {"command": "git push --force"},
    )
    alices.call("POST", f"tasks/{task}/approval/", {"decision": "reject"})
    jobs.advance(UUID(task))
    done = alices.call("GET", f"tasks/{task}/").json()
    assert (done["state"], done["final_result"]["text"], done["iteration"]) == ("done", "All done.", 3)
    entries = alices.call("GET", f"sessions/{session.pk}/entries/").json()["results"]
    statuses = [entry["metadata"]["status"] for entry in entries if entry["context_type"] == "tool_result"]
    assert statuses == ["succeeded", "rejected", "succeeded"]

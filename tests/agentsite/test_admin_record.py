"""The record in the admin: it is read-only, and only an entire session can be deleted."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from llm_app.models import Blob, LLMLog
from llm_app.types import ToolCall
from tasks_app.models import Approval, ContextEntry, ContextType, InboxMessage, Session, Task, ToolCallLog
from tasks_app.record import Draft
from tests import factories
from tests.agentsite import installation

RECORD = [ContextEntry, ToolCallLog, LLMLog, Blob, Task, Approval, InboxMessage]


@pytest.fixture
def task(db: None) -> Task:
    return installation.add_more()


def address(model: Any, page: str, *arguments: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments)


@pytest.mark.parametrize("model", RECORD)
def test_record_rows_cannot_be_added_changed_or_deleted(model: Any, task: Task, browser: Client) -> None:
    row = model._default_manager.first()
    before = model._default_manager.values().get(pk=row.pk)
    assert browser.post(address(model, "add"), {}).status_code == 403
    assert browser.post(address(model, "change", row.pk), {"content": "x", "state": "done"}).status_code == 403
    assert browser.post(address(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    browser.post(
        address(model, "changelist"), {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    )
    assert model._default_manager.values().get(pk=row.pk) == before


def test_entries_are_found_by_text_of_the_agent(task: Task, browser: Client) -> None:
    call = ToolCall(id="call_giraffe", name="message", arguments='{"type": "result", "text": "A giraffe"}')
    (said,) = factories.append(task, Draft(context_type=ContextType.AI_MESSAGE, tool_call=call))
    found = browser.get(address(ContextEntry, "changelist"), {"q": "giraffe"}).context["cl"].result_list
    assert [entry.pk for entry in found] == [said.pk]


def test_deleting_a_session_deletes_its_record(task: Task, browser: Client) -> None:
    Task.objects.update(state="failed", failure_code="stopped", ended_at=task.created_at)
    asked = browser.get(address(Session, "delete", task.session_id))
    assert "Entries: 2" in asked.content.decode()
    browser.post(address(Session, "delete", task.session_id), {"post": "yes"})
    assert not Session.objects.exists()
    assert not ContextEntry.objects.exists()


def test_several_sessions_are_deleted_together(task: Task, browser: Client) -> None:
    installation.add_more(2)
    Task.objects.update(state="failed", failure_code="stopped", ended_at=task.created_at)
    every = list(Session.objects.values_list("pk", flat=True))
    chosen = {"action": "delete_selected", "_selected_action": every, "post": "yes"}
    browser.post(address(Session, "changelist"), chosen)
    assert not Session.objects.exists()


def test_session_with_a_running_task_cannot_be_deleted(task: Task, browser: Client) -> None:
    browser.post(address(Session, "delete", task.session_id), {"post": "yes"})
    assert Session.objects.filter(pk=task.session_id).exists()
    Task.objects.update(session=child_of(task.session))
    assert browser.post(address(Session, "delete", task.session_id), {"post": "yes"}).status_code == 200
    assert Session.objects.count() == 2


def test_delegated_session_is_deleted_only_with_its_parent(browser: Client) -> None:
    root = factories.SessionFactory()
    child = child_of(root)
    alone = browser.post(address(Session, "delete", child.pk), {"post": "yes"})
    chosen = {"action": "delete_selected", "_selected_action": [child.pk], "post": "yes"}
    for asked in (alone, browser.post(address(Session, "changelist"), chosen)):
        assert (asked.status_code, Session.objects.count()) == (200, 2)
    assert "Sessions: 2" in browser.get(address(Session, "delete", root.pk)).content.decode()
    chosen["_selected_action"] = [root.pk, child.pk]
    assert browser.post(address(Session, "changelist"), chosen).status_code == 302
    assert not Session.objects.exists()


def child_of(root: Session) -> Session:
    child: Session = factories.SessionFactory(owner=root.owner, root=root, folder="children/1")
    return child


def test_session_form_keeps_columns_that_appending_changes(task: Task, browser: Client) -> None:
    page = browser.get(address(Session, "change", task.session_id))
    form = {"title": "Renamed", "model": task.session.model_id, **_management(page)}
    with CaptureQueriesContext(connection) as captured:
        browser.post(address(Session, "change", task.session_id), form)
    assert Session.objects.get().title == "Renamed"
    written = [query["sql"] for query in captured if query["sql"].startswith('UPDATE "sessions"')]
    assert len(written) == 1
    assert "last_seq" not in written[0]
    assert "chain_head" not in written[0]


def _management(page: Any) -> dict[str, Any]:
    """Return the hidden fields of the page's formsets."""
    forms = [inline.formset.management_form for inline in page.context["inline_admin_formsets"]]
    return {form.add_prefix(name): form[name].value() for form in forms for name in form.fields}


def test_task_page_has_a_readable_title(task: Task, browser: Client) -> None:
    Task.objects.update(state="executing_tool")
    page = browser.get(address(Task, "change", task.pk)).content.decode()
    assert f"Task of {task.session}, executing tool" in page


def test_stop_action_ends_the_selected_tasks(task: Task, browser: Client) -> None:
    other = installation.add_more(2)
    answer = browser.post(
        address(Task, "changelist"), {"action": "stop", "_selected_action": [str(task.pk)]}, follow=True
    )
    assert "Tasks asked to stop: 1." in answer.content.decode()
    task.refresh_from_db()
    other.refresh_from_db()
    assert task.stop_requested_at
    assert other.stop_requested_at is None


def test_running_task_page_has_a_stop_button(task: Task, browser: Client) -> None:
    assert "Stop this task" in browser.get(address(Task, "change", task.pk)).content.decode()
    Task.objects.update(state="failed", failure_code="stopped", ended_at=task.created_at)
    assert "Stop this task" not in browser.get(address(Task, "change", task.pk)).content.decode()


def test_view_permission_cannot_stop_tasks(task: Task) -> None:
    from django.contrib.auth.models import Permission

    watcher = factories.UserFactory(is_staff=True)
    watcher.user_permissions.add(Permission.objects.get(codename="view_task"))
    browser = Client()
    browser.force_login(watcher, backend="allauth.account.auth_backends.AuthenticationBackend")
    assert "Stop this task" not in browser.get(address(Task, "change", task.pk)).content.decode()
    browser.post(address(Task, "changelist"), {"action": "stop", "_selected_action": [str(task.pk)]})
    task.refresh_from_db()
    assert task.stop_requested_at is None


def test_entry_page_shows_the_entire_entry(task: Task, browser: Client) -> None:
    entry = ContextEntry.objects.filter(context_type="tool_call").get()
    page = browser.get(address(ContextEntry, "change", entry.pk)).content.decode()
    assert "call_1" in page
    assert entry.hash in page


def test_members_are_added_to_sessions_but_not_to_delegated_ones(task: Task, browser: Client) -> None:
    child = child_of(task.session)
    assert "memberships-TOTAL_FORMS" in browser.get(address(Session, "change", task.session_id)).content.decode()
    assert "memberships-TOTAL_FORMS" not in browser.get(address(Session, "change", child.pk)).content.decode()

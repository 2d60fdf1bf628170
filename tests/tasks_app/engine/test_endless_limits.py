"""Limits that mean "for ever" exceed the calendar: they end at its edge, and no task fails because of them."""

import pytest

from tasks_app.models import Approval, Limits, WorkspaceChange
from tasks_app.workspace import file_history
from tasks_app.workspace.folders import workspace_of
from tests.tasks_app.engine.conftest import call, result
from tools_app.models import ToolSetting

WRITE = call("file", action="write", path="a.txt", content="x")
LARGEST = 2**31 - 1  # the maximum of column and form


@pytest.fixture(autouse=True)
def endless(db):
    Limits.objects.create(pk=1, approval_hours=LARGEST, history_days=LARGEST, children_minutes=LARGEST)


def test_a_call_waits_for_its_approval(play):
    ToolSetting.objects.create(name="file", approval="always")
    run = play(WRITE, result())
    run.advance()
    assert run.task.waiting_for == "approval"
    assert Approval.objects.get().expires_at.year > 2100


def test_old_file_changes_are_bounded_otherwise(play):
    Limits.objects.update(history_changes=1)
    run = play(WRITE, result())
    run.advance()
    session = run.task.session
    workspace_of(session).write_bytes("b.txt", b"b")
    file_history.record(session, workspace_of(session))
    assert WorkspaceChange.objects.count() == 1

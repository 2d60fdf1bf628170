"""To delete a folder leaves no version behind: a person is asked first."""

import pytest

from tasks_app import services
from tasks_app.models import Approval
from tasks_app.workspaces import workspace_of
from tests.tasks_app.engine.conftest import call, result


@pytest.mark.parametrize("decision", ["approved", "rejected"])
def test_a_person_decides_over_a_folder(play, owner, decision):
    run = play(call("file", action="delete", path="work"), result())
    workspace = workspace_of(run.task.session)
    workspace.write_bytes("work/a.txt", b"x")
    task = run.advance()
    assert task.waiting_for == "approval"
    assert Approval.objects.get().reason == "deletes a folder with all that is in it"
    services.decide(task, owner, decision)
    assert run.advance().state == "done"
    assert workspace.is_file("work/a.txt") == (decision == "rejected")


def test_a_single_file_is_deleted_at_once_and_keeps_a_version(play):
    run = play(call("file", action="delete", path="a.txt"), result())
    workspace_of(run.task.session).write_bytes("a.txt", b"x")
    assert run.advance().state == "done"
    assert run.task.session.file_versions.get().path == "a.txt"

"""Quotas of a person: the number of sessions, and disk space for all their files."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tasks_app import services
from tasks_app.models import Limits, Session
from tasks_app.models.errors import DiskFull, FilesQuotaFull, SessionsQuotaFull
from tasks_app.services import forks
from tasks_app.workspace import uploads
from tasks_app.workspace.folders import used_bytes, workspace_of
from tests import factories
from tests.tasks_app.api.conftest import Program
from tests.tasks_app.engine.conftest import Run, call, result


def upload(session: Session, size: int) -> None:
    uploads.store(session, [SimpleUploadedFile("a.bin", b"x" * size)])


def test_sessions_are_limited_per_person(session: Any, alice: Any, bob: Any) -> None:
    Limits.objects.create(pk=1, user_sessions=1)
    for begin in (lambda: services.create_session(alice), lambda: forks.fork(session, 0, alice)):
        with pytest.raises(SessionsQuotaFull):
            begin()
    answer = Program(alice).call("POST", "sessions/", {})
    assert (answer.status_code, answer.json()["detail"]) == (409, SessionsQuotaFull.__doc__)
    services.create_session(bob)


def test_the_first_page_reports_the_limit_and_keeps_the_text(session: Any, alice: Any, client: Any) -> None:
    Limits.objects.create(pk=1, user_sessions=1)
    client.force_login(alice)
    answer = client.post("/", {"content": "Hello"}, headers={"HX-Request": "true"})
    assert "more sessions than you may have" in answer.content.decode()


def test_files_of_all_sessions_count_together(session: Any, alice: Any, bob: Any) -> None:
    other = factories.SessionFactory(owner=alice)
    upload(session, 50_000)
    upload(other, 50_000)
    held = Session.objects.get(pk=session.pk).files_bytes + Session.objects.get(pk=other.pk).files_bytes
    assert held >= 100_000
    Limits.objects.create(pk=1, user_bytes=held)
    for refused in (lambda: upload(session, 1), lambda: services.post_message(session, alice, "Go.")):
        with pytest.raises(FilesQuotaFull):
            refused()
    upload(factories.SessionFactory(owner=bob), 50_000)
    uploads.delete(other, "a.bin")
    upload(session, 1)


def test_a_tool_can_use_the_owners_remaining_quota(session: Any, alice: Any) -> None:
    other = factories.SessionFactory(owner=alice, files_bytes=900_000)
    Limits.objects.create(pk=1, user_bytes=1_000_000)
    assert workspace_of(session).most == 100_000
    assert workspace_of(other).most == 1_000_000


def test_files_of_a_task_are_counted_when_it_ends(play: Any) -> None:
    run: Run = play(call("file", action="write", path="a.txt", content="x" * 50_000), result())
    assert run.advance().state == "done"
    assert Session.objects.get(pk=run.task.session_id).files_bytes >= 50_000


def test_the_files_of_a_fork_count_immediately(session: Any, alice: Any, bob: Any) -> None:
    upload(session, 50_000)
    Limits.objects.create(pk=1, user_bytes=120_000)
    before = used_bytes(alice.pk)
    forks.fork(session, 0, alice)
    assert used_bytes(alice.pk) >= before + 50_000
    folders = set(workspace_of(session).root.parent.iterdir())
    with pytest.raises(FilesQuotaFull):
        forks.fork(session, 0, alice)
    assert set(workspace_of(session).root.parent.iterdir()) == folders
    forks.fork(session, 0, bob)


def test_a_fork_needs_free_disk_space(session: Any, alice: Any, settings: Any) -> None:
    settings.LEAST_FREE_DISK = 10**18
    with pytest.raises(DiskFull):
        forks.fork(session, 0, alice)

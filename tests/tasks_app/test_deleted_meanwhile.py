"""Deletions that race with changes: the deletion wins, and the change reports that its object is gone."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, connection
from django.db.models.signals import post_delete
from django.utils import timezone

from tasks_app import services
from tasks_app.api.sharing import MemberRights
from tasks_app.models import Project, Session, Task
from tasks_app.services import forks, library, sharing
from tests import factories
from tests.tasks_app.api.conftest import Program
from tests.tasks_app.pages.conftest import Browser

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project(alice):
    return Project.objects.create(owner=alice, name="Apollo")


@pytest.fixture
def task(session):
    return factories.TaskFactory(session=session, state="done", final_result={"text": "Done."}, ended_at=timezone.now())


def first(monkeypatch, deletion, *verbs):
    """Run `deletion` directly before each of these functions."""
    for place, name in verbs:
        verb = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *given, verb=verb, **named: (deletion(), verb(*given, **named))[1])


def test_session_cannot_move_to_a_deleted_project(alice, session, project, monkeypatch):
    first(monkeypatch, project.delete, (services, "move_session"))
    answer = Program(alice).call("PATCH", f"sessions/{session.pk}/", {"project": str(project.pk)})
    assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
    session.refresh_from_db()
    assert session.project is None


def test_deleted_project_refuses_sessions_files_and_notes(alice, project, monkeypatch):
    gone = Project.objects.filter(pk=project.pk).delete
    first(monkeypatch, gone, (services, "create_session"), (library, "add_files"), (services, "change_project"))
    program, path = Program(alice), f"projects/{project.pk}/"
    file = SimpleUploadedFile("legs.txt", b"Four legs.")
    for send in (
        partial(program.call, "PATCH", path, {"name": "Gemini"}),
        partial(program.post, f"/api/v1/{path}library/", {"file": file}, format="multipart"),
        partial(program.call, "POST", "sessions/", {"project": str(project.pk)}),
    ):
        Project.objects.update_or_create(pk=project.pk, defaults={"owner": alice, "name": "Apollo"})
        assert send().status_code == 404


def test_pages_report_a_deleted_project(alice, session, task, monkeypatch):
    gone = Session.objects.filter(pk=session.pk).delete
    first(monkeypatch, gone, (services, "post_message"))
    answer = Browser(alice).htmx(f"/s/{session.pk}/messages/", {"content": "Hi"})
    assert answer.status_code == 404
    assert "does not exist" in answer.content.decode()


def test_changing_a_deleted_member_is_404(alice, session, monkeypatch):
    first(monkeypatch, session.memberships.all().delete, (MemberRights, "is_valid"))
    path = f"sessions/{session.pk}/members/{session.memberships.first().pk}/"
    assert Program(alice).call("PATCH", path, {"may_write": True}).status_code == 404


def test_changing_the_title_of_a_deleted_session_is_404(alice, session, monkeypatch):
    first(monkeypatch, Session.objects.filter(pk=session.pk).delete, (services, "change_session"))
    assert Program(alice).call("PATCH", f"sessions/{session.pk}/", {"title": "x"}).status_code == 404


@pytest.mark.parametrize("refer", [sharing.make_link, lambda origin, _: forks.fork(origin, 0, origin.owner)])
def test_session_is_deleted_while_new_rows_refer_to_it(refer, session, task):
    ended = threading.Event()

    def refers():
        try:
            refer(session, 7)
        finally:
            connection.close()
            ended.set()

    with ThreadPoolExecutor(1) as threads:
        referring = []

        def meanwhile(**_):
            referring.append(threads.submit(refers))
            ended.wait(0.5)

        post_delete.connect(meanwhile, sender=Task)
        try:
            services.delete_session(Session.objects.get(pk=session.pk))
        finally:
            post_delete.disconnect(meanwhile, sender=Task)
        assert isinstance(referring[0].exception(30), IntegrityError)
    assert not Session.objects.exists()

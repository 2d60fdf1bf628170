"""Callbacks after a commit can fail without affecting anything else."""

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile

from tasks_app import services
from tasks_app.models import LibraryFile, Project, Session
from tasks_app.run import affinity
from tasks_app.services import library
from tasks_app.workspace.folders import workspace_of


def _fail(*_):
    raise ConnectionError()


@pytest.mark.django_db(transaction=True)
def test_session_and_files_are_deleted_when_broadcast_fails(session, monkeypatch):
    monkeypatch.setattr(affinity, "release", _fail)
    root = workspace_of(session).make_root()
    services.delete_session(session)
    assert not Session.objects.exists()
    assert not root.exists()


@pytest.mark.django_db(transaction=True)
def test_project_is_deleted_when_storage_fails(alice, monkeypatch):
    project = Project.objects.create(owner=alice, name="Apollo")
    library.add_files(project, alice, [SimpleUploadedFile("legs.txt", b"Four legs.")])
    monkeypatch.setattr(default_storage, "delete", _fail)
    project.delete()
    assert not LibraryFile.objects.exists()

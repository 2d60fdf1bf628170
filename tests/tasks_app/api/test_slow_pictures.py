"""Pictures are read outside transactions: that takes up to 20 s, PostgreSQL ends idle ones, and SQLite has one writer."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from tasks_app.models import ContextEntry
from tasks_app.record import images
from tasks_app.workspace.folders import workspace_of
from tests import factories
from tests.pictures import noise

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def session(client):
    session = factories.SessionFactory(model=factories.scripted_model("script"))
    workspace_of(session).write_bytes("one.png", noise(8, 8))
    client.force_login(session.owner)
    return session


@pytest.fixture
def in_transactions(monkeypatch):
    """Return a list that records for each read of pictures whether a transaction was open."""
    seen, store = [], images.store

    def observed(workspace, paths):
        seen.append(connection.in_atomic_block)
        return store(workspace, paths)

    monkeypatch.setattr(images, "store", observed)
    return seen


def names_of_pictures():
    return [picture["path"] for entry in ContextEntry.objects.exclude(images="") for picture in entry.pictures]


def test_pictures_are_read_before_the_transaction_of_a_key(client, session, in_transactions):
    body, key = {"content": "Look.", "attachments": ["one.png"]}, {"Idempotency-Key": "once"}
    address = f"/api/v1/sessions/{session.pk}/messages/"
    for _ in range(2):
        answer = client.post(address, body, content_type="application/json", headers=key)
        assert answer.status_code == 202, answer.content
    assert in_transactions == [False]
    assert names_of_pictures() == ["one.png"]


def test_pictures_are_read_before_the_transaction_of_a_form(client, session, in_transactions):
    file = SimpleUploadedFile("other.png", noise(8, 8))
    answer = client.post(f"/s/{session.pk}/messages/", {"content": "Look.", "files": file, "key": "a form's"})
    assert answer.status_code == 302, answer.content
    assert in_transactions == [False]
    assert names_of_pictures() == ["other.png"]


def test_pictures_are_read_before_the_transaction_of_a_first_message(client, session, in_transactions):
    file = SimpleUploadedFile("other.png", noise(8, 8))
    assert client.post("/", {"content": "Look.", "files": file, "key": "a form's"}).status_code == 302
    assert in_transactions == [False]

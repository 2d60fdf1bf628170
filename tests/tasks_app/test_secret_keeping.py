"""Saving a secret: existing occurrences are reported, copies are redacted, and the record is redacted on reading."""

from datetime import UTC, datetime

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType

from llm_app.models import Secret
from tasks_app import services
from tasks_app.models import ContextEntry, ContextType, InboxMessage, Session, Task
from tasks_app.models.errors import SecretNameTaken
from tasks_app.record import Draft, append_entries
from tasks_app.services import secrets
from tests import factories

VALUE = "hunter2-hunter2"


@pytest.fixture
def task(session, alice):
    return factories.TaskFactory(session=session, started_by=alice)


def said(session, task, *texts):
    from django.db import transaction

    drafts = [Draft(context_type=ContextType.USER_MESSAGE, content=text) for text in texts]
    with transaction.atomic():
        return append_entries(session, task, drafts)


def test_occurrences_are_the_owners_newest_first(session, task, alice, charlie):
    said(session, task, f"It is {VALUE}.", "Nothing.", "aHVudGVyMi1odW50ZXIy in base64")
    others = factories.SessionFactory(owner=charlie)
    said(others, factories.TaskFactory(session=others, started_by=charlie), VALUE)
    kept = secrets.create(alice, "PASSWORD", VALUE)
    assert [(place.session, place.seq) for place in kept.found] == [(session.pk, 3), (session.pk, 1)]
    assert "in 2 entries" in kept.sentence


def test_occurrences_need_write_access(session, task, bob, carol):
    said(session, task, VALUE)
    assert len(secrets.create(carol, "A", VALUE).found) == 1
    assert secrets.create(bob, "A", VALUE).found == []


def test_team_secret_is_searched_everywhere(session, task, alice):
    said(session, task, VALUE)
    assert len(secrets.create(None, "TEAM", VALUE).found) == 1
    with pytest.raises(SecretNameTaken):
        secrets.create(None, "TEAM", "another-value-1")
    assert Secret.objects.count() == 1


def test_record_is_unchanged_and_copies_are_redacted(session, task, alice):
    (entry,) = said(session, task, VALUE)
    result = {"text": VALUE, "data": {VALUE: [VALUE]}, "attachments": [], "suggestions": [VALUE]}
    Task.objects.filter(pk=task.pk).update(
        plan=[{"title": VALUE, "status": "done"}], final_result=result, failure_detail=VALUE
    )
    Session.objects.filter(pk=session.pk).update(title=f"On {VALUE}", summary=VALUE, next_steps=[VALUE])
    waiting = InboxMessage.objects.create(session=session, author=alice, mode="queue", content=VALUE)
    kind = ContentType.objects.get_for_model(Session)
    LogEntry.objects.create(user=alice, content_type=kind, object_repr=VALUE, action_flag=CHANGE)
    alice.preferences = f"My key is {VALUE}"
    alice.save()
    secrets.create(alice, "PASSWORD", VALUE)
    for row in (task, session, waiting, alice, LogEntry.objects.get()):
        row.refresh_from_db()
        assert VALUE not in repr(vars(row))
    assert session.title == "On [secret:PASSWORD]"
    assert task.final_result["data"] == {"[secret:PASSWORD]": ["[secret:PASSWORD]"]}
    entry.refresh_from_db()
    assert entry.content == VALUE


def test_older_entries_are_redacted_on_reading(session, task, alice, client):
    said(session, task, f"It is {VALUE}.")
    secrets.create(alice, "PASSWORD", VALUE)
    client.force_login(alice)
    for path in (f"/s/{session.pk}/", f"/api/v1/sessions/{session.pk}/entries/"):
        shown = client.get(path).content.decode()
        assert "It is [secret:PASSWORD]." in shown
        assert VALUE not in shown


def test_input_is_redacted_before_storage(session, alice):
    secrets.create(alice, "PASSWORD", VALUE)
    services.post_message(session, alice, f"Use {VALUE} there.")
    session.refresh_from_db()
    assert session.title == "Use [secret:PASSWORD] there."
    assert ContextEntry.objects.get(session=session).content == "Use [secret:PASSWORD] there."
    assert InboxMessage.objects.get(session=session).content == "Use [secret:PASSWORD] there."


def test_responses_list_occurrences(session, task, alice, client):
    said(session, task, VALUE)
    client.force_login(alice)
    page = client.post("/settings/secrets/", {"name": "PASSWORD", "value": VALUE}).content.decode()
    assert f"/s/{session.pk}/#e1" in page
    assert VALUE not in page
    Secret.objects.all().delete()
    answer = client.post("/api/v1/secrets/", {"name": "B", "value": VALUE}, content_type="application/json")
    assert answer.json()["found_in"] == [{"session": str(session.pk), "seq": 1}]


def test_admin_validates_and_reports_occurrences(session, task, client, alice):
    said(session, task, VALUE)
    alice.is_staff = alice.is_superuser = True
    alice.save()
    client.force_login(alice)
    short = client.post("/admin/llm_app/secret/add/", {"name": "A", "owner": "", "value": "short"})
    assert "under 8 characters" in short.content.decode()
    page = client.post("/admin/llm_app/secret/add/", {"name": "A", "owner": "", "value": VALUE}, follow=True)
    assert f"{session.pk} entry 1" in page.content.decode()


def test_occurrences_of_any_age_are_found(session, task, alice):
    said(session, task, VALUE)
    ContextEntry.objects.update(created_at=datetime(2020, 1, 1, tzinfo=UTC))
    assert len(secrets.create(alice, "A", VALUE).found) == 1

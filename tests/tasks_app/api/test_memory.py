"""Memory notes of users, the team and projects over REST, and sessions off the record."""

import pytest

from llm_app.models import Secret
from tasks_app.models import MemoryNote, Project, Session


def test_note_is_created_listed_changed_and_deleted(alices, alice):
    answer = alices.call("POST", "memory/", {"text": "Tea, no coffee."})
    assert answer.status_code == 201
    note = answer.json()
    assert (note["text"], note["team"], note["auto"], note["session"]) == ("Tea, no coffee.", False, False, None)
    assert MemoryNote.objects.get().owner == alice
    assert alices.call("GET", "memory/").json()["results"] == [note]
    assert alices.call("PATCH", f"memory/{note['id']}/", {"text": "Coffee."}).json()["text"] == "Coffee."
    assert alices.call("DELETE", f"memory/{note['id']}/").status_code == 204
    assert alices.call("DELETE", f"memory/{note['id']}/").status_code == 404


def test_team_notes_are_writable_by_administrators_only(alices, alice, program, bob):
    assert alices.call("POST", "memory/", {"text": "Ours.", "team": True}).status_code == 403
    alice.is_staff = True
    alice.save()
    note = alices.call("POST", "memory/", {"text": "Ours.", "team": True}).json()
    bobs = program(bob)
    assert [each["team"] for each in bobs.call("GET", "memory/").json()["results"]] == [True]
    for method in ("PATCH", "DELETE"):
        assert bobs.call(method, f"memory/{note['id']}/", {"text": "x"}).status_code == 403
    assert alices.call("DELETE", f"memory/{note['id']}/").status_code == 204


def test_project_notes_follow_the_rights_of_members(alices, alice, program, bob, charlie):
    project = Project.objects.create(owner=alice, name="Apollo")
    member = project.memberships.create(user=bob)
    note = alices.call("POST", "memory/", {"text": "Four legs.", "project": str(project.pk)}).json()
    assert (note["project"], note["team"]) == (str(project.pk), False)
    of_project, one, bobs = f"memory/?project={project.pk}", f"memory/{note['id']}/", program(bob)
    assert bobs.call("GET", of_project).json()["results"] == [note]
    assert bobs.call("GET", "memory/").json()["results"] == []
    for method in ("PATCH", "DELETE"):
        assert bobs.call(method, one, {"text": "x"}).status_code == 403
        assert program(charlie).call(method, one, {"text": "x"}).status_code == 404
    assert bobs.call("POST", "memory/", {"text": "x", "project": str(project.pk)}).status_code == 403
    for wrong in (of_project, "memory/?project=apollo"):
        assert program(charlie).call("GET", wrong).status_code == 404
    assert program(charlie).call("POST", "memory/", {"text": "x", "project": str(project.pk)}).status_code == 404
    member.may_write = True
    member.save()
    assert bobs.call("PATCH", one, {"text": "Five legs."}).json()["text"] == "Five legs."
    assert bobs.call("DELETE", one).status_code == 204


def test_project_notes_are_redacted_with_all_members_secrets(alices, alice, program, bob, charlie):
    project = Project.objects.create(owner=alice, name="Apollo")
    MemoryNote.objects.create(project=project, text="It was hunter2-hunter2 all along.")  # before she kept it
    Secret.objects.create(owner=alice, name="KEY", value="hunter2-hunter2")
    for person, may_write in ((bob, False), (charlie, True)):
        project.memberships.create(user=person, may_write=may_write)
    written = program(charlie).call("POST", "memory/", {"text": "Try hunter2-hunter2.", "project": str(project.pk)})
    changed = program(charlie).call("PATCH", f"memory/{written.json()['id']}/", {"text": "hunter2-hunter2, again."})
    assert (written.json()["text"], changed.json()["text"]) == ("Try [secret:KEY].", "[secret:KEY], again.")
    told = program(bob).call("GET", f"memory/?project={project.pk}").json()["results"]
    assert [note["text"] for note in told] == ["[secret:KEY], again.", "It was [secret:KEY] all along."]


@pytest.mark.parametrize("body", [{}, {"text": ""}, {"text": "  "}, {"text": 1}, {"text": "x" * 1001}])
def test_invalid_notes_are_refused(body, alices):
    answer = alices.call("POST", "memory/", body)
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["text"])


def test_off_record_can_be_set_at_creation_only(alices):
    created = alices.call("POST", "sessions/", {"off_record": True}).json()
    assert created["off_record"] is True
    assert Session.objects.get(pk=created["id"]).off_record
    assert alices.call("POST", "sessions/", {}).json()["off_record"] is False
    address = f"sessions/{created['id']}/"
    assert alices.call("PATCH", address, {"off_record": False}).status_code == 422
    assert alices.call("PATCH", address, {"off_record": True, "title": "x"}).status_code == 200

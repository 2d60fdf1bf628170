"""Projects, members, links and libraries over REST, with the same rights as on the pages."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tasks_app.models import Agent, Session, SessionMember, ShareLink
from tasks_app.worker import library_index
from tests import factories


@pytest.fixture
def project(alices):
    Agent.objects.create(name="Pilot")
    made = alices.call("POST", "projects/", {"name": "Apollo", "instructions": "Be calm.", "agent": "Pilot"})
    assert made.status_code == 201
    return made.json()


def test_project_is_created_listed_changed_and_deleted(alices, project):
    path = f"projects/{project['id']}/"
    assert alices.call("GET", "projects/").json()["results"] == [project]
    changed = alices.call("PATCH", path, {"instructions": "Be quick.", "agent": None}).json()
    assert (changed["name"], changed["instructions"], changed["agent"]) == ("Apollo", "Be quick.", None)
    assert alices.call("PATCH", path, {"name": " "}).status_code == 422
    session = alices.call("POST", "sessions/", {"project": project["id"]}).json()
    assert alices.call("DELETE", path).status_code == 204
    assert alices.call("GET", f"sessions/{session['id']}/").json()["project"] is None


def test_session_is_created_in_a_project_moved_and_filtered(alices, project, program, bob, session):
    made = alices.call("POST", "sessions/", {"project": project["id"]}).json()
    assert (made["project"], made["agent"]) == (project["id"], "Pilot")
    listed = alices.call("GET", f"sessions/?project={project['id']}").json()["results"]
    assert [one["id"] for one in listed] == [made["id"]]
    assert alices.call("PATCH", f"sessions/{made['id']}/", {"project": None}).json()["project"] is None
    session.memberships.update(may_write=True)
    assert program(bob).call("POST", "sessions/", {"project": project["id"]}).status_code == 422
    alices.call("POST", f"projects/{project['id']}/members/", {"user": "bob", "may_write": True})
    refused = program(bob).call("PATCH", f"sessions/{session.pk}/", {"project": project["id"]})
    assert refused.json()["errors"]["project"] == ["Only the owner of a session moves it."]
    assert program(bob).call("GET", f"sessions/{session.pk}/").json()["project"] is None


def test_members_are_added_by_name_or_role_changed_and_removed(alices, session, charlie, program):
    path = f"sessions/{session.pk}/members/"
    made = alices.call("POST", path, {"user": "charlie"})
    assert (made.status_code, made.json()["user"], made.json()["may_write"]) == (201, "charlie", False)
    one = f"{path}{made.json()['id']}/"
    assert alices.call("PATCH", one, {"may_write": True}).json()["may_write"] is True
    assert SessionMember.objects.get(user=charlie).may_write
    assert len(alices.call("GET", path).json()["results"]) == 3
    assert alices.call("DELETE", one).status_code == 204
    assert program(charlie).call("GET", f"sessions/{session.pk}/").status_code == 404
    for wrong in ({"user": "nobody"}, {"role": "nobodies"}, {}, {"user": "bob", "role": "x"}):
        assert alices.call("POST", path, wrong).status_code == 422


def test_link_shows_its_address_once_and_works_until_revoked(alices, session):
    path = f"sessions/{session.pk}/links/"
    made = alices.call("POST", path, {"days": 30}).json()
    token = made["url"].rstrip("/").rpartition("/")[2]
    assert ShareLink.objects.valid_with_token(token).session == session
    (listed,) = alices.call("GET", path).json()["results"]
    assert (listed["id"], listed["url"]) == (made["id"], None)
    assert alices.call("DELETE", f"{path}{made['id']}/").status_code == 204
    assert ShareLink.objects.valid_with_token(token) is None


def test_files_are_uploaded_read_and_downloaded(alices, project):
    path = f"/api/v1/projects/{project['id']}/library/"
    made = alices.post(path, {"file": SimpleUploadedFile("legs.txt", b"Four legs.")}, format="multipart")
    assert (made.status_code, made.json()[0]["state"]) == (201, "waiting")
    library_index.read_due()
    (file,) = alices.get(path).json()["results"]
    assert (file["state"], file["count"], file["unit"]) == ("ready", 1, "part")
    assert alices.get(f"{path}{file['id']}/")["Content-Disposition"] == 'attachment; filename="legs.txt"'
    assert alices.delete(f"{path}{file['id']}/").status_code == 204
    other = factories.SessionFactory(owner=Session.objects.first().owner)
    assert alices.get(f"/api/v1/projects/{other.pk}/library/").status_code == 404

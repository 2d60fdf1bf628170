"""Access to every route and method, for owners, members, readers and strangers."""

import uuid

import pytest

from tasks_app.api.urls import urlpatterns
from tasks_app.models import (
    Approval,
    FileChange,
    InboxMessage,
    LibraryFile,
    MemoryNote,
    Project,
    ShareLink,
    ToolCallLog,
)
from tasks_app.workspace import file_history
from tests import factories

READS = [
    ("GET", "sessions/{session}/"),
    ("GET", "sessions/{session}/export/"),
    ("GET", "sessions/{session}/entries/"),
    ("GET", "sessions/{session}/events/"),
    ("GET", "sessions/{session}/files/"),
    ("GET", "sessions/{session}/files/notes.txt"),
    ("GET", "sessions/{session}/versions/"),
    ("GET", "sessions/{session}/versions/{version}/"),
    ("GET", "sessions/{session}/messages/"),
    ("GET", "sessions/{session}/changes/"),
    ("GET", "changes/{change}/diff/"),
    ("GET", "tasks/{task}/"),
    ("GET", "tasks/{task}/llm-calls/"),
    ("GET", "llm-calls/{call}/request/"),
]
WRITES = [
    ("PATCH", "sessions/{session}/", {"title": "Mine"}),
    ("POST", "sessions/{session}/messages/", {"content": "Hello"}),
    ("POST", "sessions/{session}/ports/5000/start/", None),
    ("PATCH", "sessions/{session}/messages/{message}/", {"content": "Mine"}),
    ("DELETE", "sessions/{session}/messages/{message}/", None),
    ("POST", "sessions/{session}/files/notes.txt", {"any": "bytes"}),
    ("POST", "changes/{change}/undo/", {"paths": ["notes.txt"]}),
    ("POST", "tasks/{task}/stop/", None),
    ("POST", "tasks/{task}/reply/", {"content": "Blue"}),
    ("POST", "tasks/{task}/approval/", {"decision": "approve"}),
]
FOR_READERS_TOO = [("POST", "tasks/{task}/fork/", {"seq": 1})]
DECISIONS = [("GET", "approvals/{approval}/", None), ("POST", "approvals/{approval}/", {"decision": "approve"})]
OWNERS_ALONE = [("DELETE", "sessions/{session}/")]
SHARING = [
    ("GET", "sessions/{session}/members/", None),
    ("POST", "sessions/{session}/members/", {"user": "charlie"}),
    ("PATCH", "sessions/{session}/members/{member}/", {"may_write": True}),
    ("DELETE", "sessions/{session}/members/{member}/", None),
    ("GET", "sessions/{session}/links/", None),
    ("POST", "sessions/{session}/links/", {"days": 7}),
    ("DELETE", "sessions/{session}/links/{link}/", None),
    ("DELETE", "projects/{project}/", None),
    ("GET", "projects/{project}/members/", None),
    ("POST", "projects/{project}/members/", {"user": "charlie"}),
    ("PATCH", "projects/{project}/members/{person}/", {"may_write": True}),
    ("DELETE", "projects/{project}/members/{person}/", None),
]
PROJECTS = [
    ("GET", "projects/{project}/", None),
    ("PATCH", "projects/{project}/", {"name": "Mine"}),
    ("GET", "projects/{project}/library/", None),
    ("POST", "projects/{project}/library/", None),
    ("GET", "projects/{project}/library/{file}/", None),
    ("DELETE", "projects/{project}/library/{file}/", None),
]
NOTES = [("PATCH", "memory/{note}/", {"text": "Mine"}), ("DELETE", "memory/{note}/", None)]
ONES_OWN = ["sessions/", "tasks/", "approvals/", "agents/", "workflows/", "models/", "tools/", "usage/"]
ONES_OWN += ["secrets/", "memory/", "projects/"]

WITH_ID = [*((method, path, None) for method, path in READS), *WRITES, *FOR_READERS_TOO, *DECISIONS]
WITH_ID += [*((method, path, None) for method, path in OWNERS_ALONE), *NOTES, *SHARING, *PROJECTS]
ALL = [*WITH_ID, *(("GET", path, None) for path in ONES_OWN), ("DELETE", "secrets/KEY/", None)]
ALL += [("POST", "sessions/import/", None)]


@pytest.fixture
def address(session, task):
    from tasks_app.workspace.folders import workspace_of

    workspace = workspace_of(session)
    for content in (b"hi", b"hello"):
        workspace.write_bytes("notes.txt", content)
        file_history.record(session, workspace)
    version = FileChange.objects.get(path="notes.txt")
    call = factories.kept_call(session)
    ids = {
        "session": session.pk,
        "task": task.pk,
        "version": version.pk,
        "change": version.change_id,
        "call": call.pk,
        "approval": approval(task).pk,
        "message": InboxMessage.objects.create(session=session, author=session.owner, mode="queue", content="x").pk,
        "member": session.memberships.first().pk,
        "link": ShareLink.objects.create_link(session, 7) and session.links.get().pk,
        **of_project(session),
        "note": MemoryNote.objects.create(owner=session.owner, text="Tea.").pk,
    }
    return lambda path: path.format(**ids)


def of_project(session):
    """Return the paths of a project that bob can read, as he can the session."""
    project = Project.objects.create(owner=session.owner, name="Apollo")
    member = project.memberships.create(user=session.members.get(username="bob"))
    file = LibraryFile.objects.create(project=project, name="a.txt", size=1)
    return {"project": project.pk, "person": member.pk, "file": file.pk}


def approval(task):
    log = ToolCallLog.objects.create(task=task, session_id=task.session_id, call_id="c", name="shell", status="pending")
    return Approval.objects.create(tool_call=log, reason="deletes a folder")


def test_the_tables_here_name_every_route():
    names = {
        "session": "<uuid:session_id>",
        "task": "<uuid:task_id>",
        "version": "<int:version_id>",
        "change": "<int:change_id>",
        "call": "<uuid:call_id>",
        "approval": "<int:approval_id>",
        "message": "<int:message_id>",
        "note": "<int:note_id>",
        "member": "<int:member_id>",
        "person": "<int:member_id>",
        "link": "<int:link_id>",
        "project": "<uuid:project_id>",
        "file": "<int:file_id>",
    }
    known = {
        path.format(**names)
        .replace("notes.txt", "<path:path>")
        .replace("KEY", "<str:name>")
        .replace("5000", "<int:port>")
        for _, path, _ in ALL
    }
    assert known == {str(route.pattern) for route in urlpatterns}


@pytest.mark.parametrize(("method", "path", "body"), ALL)
def test_requests_without_a_token_are_401(method, path, body, address, program):
    answer = program().call(method, address(path), body)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    assert answer["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(("method", "path", "body"), WITH_ID)
def test_unshared_objects_are_404(method, path, body, address, program, charlie):
    assert program(charlie).call(method, address(path), body).status_code == 404


@pytest.mark.parametrize(("method", "path", "body"), WITH_ID)
def test_unknown_ids_answer_like_unshared_ones(method, path, body, address, program, charlie):
    nothing = path.format(
        session=uuid.uuid4(),
        task=uuid.uuid4(),
        version=0,
        call=uuid.uuid4(),
        approval=0,
        note=0,
        change=0,
        message=0,
        project=uuid.uuid4(),
        member=0,
        person=0,
        link=0,
        file=0,
    )
    of_alice, of_nobody = (program(charlie).call(method, p, body).json() for p in (address(path), nothing))
    assert of_alice == of_nobody


@pytest.mark.parametrize("path", ["sessions/not-a-uuid/", "tasks/1/", "nowhere/", "sessions"])
def test_unknown_addresses_are_problems(path, alices):
    for method in ("GET", "POST", "DELETE"):
        answer = alices.call(method, path)
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")


@pytest.mark.parametrize(("method", "path"), READS)
def test_readers_can_read(method, path, address, program, bob):
    assert program(bob).call(method, address(path)).status_code == 200


NOT_FOR_READERS = [*WRITES, *SHARING, *(row for row in PROJECTS if row[0] != "GET")]


@pytest.mark.parametrize(("method", "path", "body"), [*NOT_FOR_READERS, *((m, p, None) for m, p in OWNERS_ALONE)])
def test_readers_cannot_change_anything(method, path, body, address, program, bob):
    answer = program(bob).call(method, address(path), body)
    assert answer.status_code == 403
    assert answer.json()["detail"]


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_writing_members_get_the_same_answers_as_the_owner(method, path, body, address, program, carol, alice):
    as_member = program(carol).call(method, address(path), body).status_code
    assert as_member in (200, 201, 202, 409)  # 409: this task waits for nobody


@pytest.mark.parametrize(("method", "path", "body"), FOR_READERS_TOO)
def test_some_requests_need_read_access_only(method, path, body, address, program, bob):
    assert program(bob).call(method, address(path), body).status_code == 201


def test_only_the_owner_can_delete(address, program, carol, alice, session, task):
    task.delete()
    assert program(carol).call("DELETE", address("sessions/{session}/")).status_code == 403
    assert program(alice).call("DELETE", address("sessions/{session}/")).status_code == 204


def test_lists_contain_visible_rows_only(task, program, alice, bob, charlie):
    factories.TaskFactory(session=factories.SessionFactory(owner=charlie))
    for path, id in (("sessions/", str(task.session_id)), ("tasks/", str(task.pk))):
        for user in (alice, bob):
            assert [row["id"] for row in program(user).call("GET", path).json()["results"]] == [id]
        assert id not in str(program(charlie).call("GET", path).json())


def test_filter_by_an_unshared_session_returns_nothing(task, program, charlie):
    assert program(charlie).call("GET", f"tasks/?session={task.session_id}").json()["results"] == []


def test_revoked_rights_end_immediately(session, program, bob):
    bobs = program(bob)
    assert bobs.call("GET", f"sessions/{session.pk}/").status_code == 200
    session.memberships.get(user=bob).delete()
    assert bobs.call("GET", f"sessions/{session.pk}/").status_code == 404


def test_session_cookie_authenticates_but_needs_csrf(session, alice):
    from rest_framework.test import APIClient

    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(alice)
    assert browser.get("/api/v1/sessions/").status_code == 200
    assert browser.post("/api/v1/sessions/", {}, format="json").status_code == 403
    browser.cookies["csrftoken"] = "a" * 32
    allowed = browser.post("/api/v1/sessions/", {}, format="json", headers={"X-CSRFToken": "a" * 32})
    assert allowed.status_code == 201


@pytest.mark.parametrize("header", ["Bearer", "Bearer wrong", "Bearer a b", "Bearer \xff\xfe", "Basic abc", "bearer"])
def test_invalid_tokens_are_401(header, session, program):
    stranger = program()
    stranger.credentials(HTTP_AUTHORIZATION=header)
    assert stranger.call("GET", "sessions/").status_code == 401


def test_closed_account_has_no_rights(program, alice, session):
    alices = program(alice)
    alice.is_active = False
    alice.save()
    assert alices.call("GET", "sessions/").status_code == 401

"""The history of files over REST: changes, diffs and undo."""

from urllib.parse import urlencode

import pytest

from llm_app.models import Secret
from llm_app.types import ToolCall
from tasks_app.models import WorkspaceChange
from tasks_app.workspace import file_history
from tasks_app.workspace.folders import workspace_of

SECRET = "s3cr3t-abcdefgh-1234"


@pytest.fixture
def workspace(session, task):
    """Return a workspace with two changes. The second replaces the first file and adds another."""
    workspace = workspace_of(session)
    file_history.ensure_snapshot(session, workspace)
    for number, content in enumerate((b"one\n", f"{SECRET}\n".encode())):
        workspace.write_bytes("a.txt", content)
        if number:
            workspace.write_bytes("b/c.txt", b"c")
        for change in file_history.record_call(
            task, workspace, ToolCall(id=f"call_{number}", name="shell", arguments="{}"), 1
        ):
            change.save()
    task.state, task.failure_code, task.ended_at = "failed", "stopped", task.created_at
    task.save()
    return workspace


def changes(alices, session):
    return alices.call("GET", f"sessions/{session.pk}/changes/").json()["results"]


def test_newest_change_is_first(workspace, alices, session):
    newest, first = changes(alices, session)
    assert (first["tool"], first["call_id"]) == ("shell", "call_0")
    assert first["paths"] == [{"path": "a.txt", "action": "created", "kept": True}]
    assert [(path["path"], path["action"]) for path in newest["paths"]] == [
        ("a.txt", "changed"),
        ("b/c.txt", "created"),
    ]
    assert newest["created_at"]


def test_diff_is_redacted(workspace, alices, alice, session):
    secret = Secret(owner=alice, name="KEY")
    secret.value = SECRET
    secret.save()
    number = changes(alices, session)[0]["id"]
    found = alices.call("GET", f"changes/{number}/diff/").json()
    assert found["id"] == number
    assert SECRET not in str(found)
    assert "-one\n+[secret:KEY]" in found["diff"]
    assert found["paths"][0]["diff"] in found["diff"]


def test_path_is_redacted_and_accepted_in_redacted_form(workspace, alices, alice, session, client):
    secret = Secret(owner=alice, name="KEY")
    secret.value = SECRET
    secret.save()
    workspace.write_bytes(f"{SECRET}.txt", b"x")
    file_history.record(session, workspace)
    newest = changes(alices, session)[0]
    assert newest["paths"][0]["path"] == "[secret:KEY].txt"
    assert SECRET not in alices.call("GET", f"changes/{newest['id']}/diff/").content.decode()
    client.force_login(alice)
    undone = alices.call("POST", f"changes/{newest['id']}/undo/", {"paths": ["[secret:KEY].txt"]})
    assert (undone.status_code, SECRET in undone.content.decode()) == (200, False)
    assert not workspace.exists(f"{SECRET}.txt")
    pages = [
        client.get(f"/s/{session.pk}/{place}/").content.decode() for place in ("versions", f"changes/{newest['id']}")
    ]
    assert [("[secret:KEY].txt" in page, SECRET in page) for page in pages] == [(True, False)] * 2


def test_versions_are_redacted_and_found_by_the_redacted_path(workspace, alices, alice, session):
    name, other = f"{SECRET}.txt", "[secret:OTHER].txt"
    for content in (b"1", b"22", b""):
        for path in (name, other):
            workspace.write_bytes(path, content)
        file_history.record(session, workspace)
    Secret.objects.create(owner=alice, name="KEY", value=SECRET)
    address = f"sessions/{session.pk}/versions/"
    listed = alices.call("GET", address)
    assert SECRET not in listed.content.decode()
    assert {row["path"] for row in listed.json()["results"]} == {"[secret:KEY].txt", other, "a.txt"}
    for shown, path in [("[secret:KEY].txt",) * 2, (name, "[secret:KEY].txt"), (other, other)]:
        rows = alices.call("GET", f"{address}?{urlencode({'path': shown})}").json()["results"]
        assert [(row["path"], row["size"]) for row in rows] == [(path, 2), (path, 1)]
    assert alices.call("GET", f"{address}?path=none").json()["results"] == []
    downloads = [alices.call("GET", f"{address}{row['id']}/") for row in listed.json()["results"]]
    assert SECRET not in str([download["Content-Disposition"] for download in downloads])


def test_undo_restores_all_files_or_one(workspace, alices, session):
    number = changes(alices, session)[0]["id"]
    undone = alices.call("POST", f"changes/{number}/undo/", {"paths": ["a.txt"]})
    assert undone.status_code == 200
    assert (undone.json()["tool"], undone.json()["left"]) == ("undo", [])
    assert (workspace.read_bytes("a.txt"), workspace.is_file("b/c.txt")) == (b"one\n", True)
    alices.call("POST", f"changes/{number}/undo/", {})
    assert not workspace.is_folder("b")
    assert alices.call("POST", f"changes/{number}/undo/", {}).status_code == 409
    alices.call("POST", f"changes/{undone.json()['id']}/undo/", {})
    assert workspace.read_bytes("a.txt").decode() == f"{SECRET}\n"


def test_undo_refuses_an_unchanged_path(workspace, alices, session):
    number = changes(alices, session)[0]["id"]
    answer = alices.call("POST", f"changes/{number}/undo/", {"paths": ["a.txt", "../x"]})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["paths"])
    assert SECRET in workspace.read_bytes("a.txt").decode()


def test_upload_is_a_separate_change(workspace, alices, session):
    alices.post(f"/api/v1/sessions/{session.pk}/files/a.txt", b"new", content_type="application/octet-stream")
    newest = changes(alices, session)[0]
    assert (newest["tool"], newest["call_id"], newest["paths"][0]["action"]) == ("upload", "", "changed")


def test_undo_is_refused_while_a_task_runs(workspace, alices, session, task):
    task.state, task.failure_code, task.ended_at = "thinking", "", None
    task.save()
    number = changes(alices, session)[0]["id"]
    assert alices.call("POST", f"changes/{number}/undo/", {}).status_code == 409
    assert WorkspaceChange.objects.count() == 2

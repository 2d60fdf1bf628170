"""Creation, listing, search, change and deletion of sessions."""

import json
import os
import subprocess

import pytest

from llm_app.types import Thinking, ToolCall
from tasks_app.models import ContextType, Session
from tasks_app.record import Draft
from tasks_app.record.draft import result
from tasks_app.workspace.folders import workspace_of
from tests import factories


def test_new_session_belongs_to_its_creator(alices, alice):
    factories.LogicalModelFactory(name="careful")
    made = alices.call("POST", "sessions/", {"title": "Taxes", "model": "careful"})
    assert made.status_code == 201
    assert made.json() == alices.call("GET", f"sessions/{made.json()['id']}/").json()
    assert {name: made.json()[name] for name in ("title", "model", "summary", "next_steps", "owner", "task")} == {
        "title": "Taxes",
        "model": "careful",
        "summary": "",
        "next_steps": [],
        "owner": "alice",
        "task": None,
    }


def test_title_and_model_are_optional(alices):
    made = alices.call("POST", "sessions/", {}).json()
    assert (made["title"], made["model"]) == ("", None)
    assert alices.call("POST", "sessions/").status_code == 201
    assert alices.call("POST", "sessions/", {"model": None}).json()["model"] is None


def test_session_shows_its_newest_task(alices, session):
    factories.TaskFactory(session=session, state="done", final_result={}, ended_at="2026-01-01T00:00:00Z")
    newest = factories.TaskFactory(session=session, state="thinking")
    brief = {"id": str(newest.pk), "state": "thinking", "waiting_for": None}
    assert alices.call("GET", f"sessions/{session.pk}/").json()["task"] == brief
    assert alices.call("GET", "sessions/").json()["results"][0]["task"] == brief


def test_change_affects_only_the_given_fields(alices, session, task):
    before = alices.call("GET", f"sessions/{session.pk}/").json()
    factories.LogicalModelFactory(name="careful")
    after = alices.call("PATCH", f"sessions/{session.pk}/", {"model": "careful"}).json()
    assert after["model"] == "careful"
    assert {**after, "model": before["model"], "updated_at": before["updated_at"]} == before
    assert alices.call("PATCH", f"sessions/{session.pk}/", {"title": "New", "summary": "no"}).json()["title"] == "New"
    session.refresh_from_db()
    assert (session.last_seq, session.summary) == (1, "")


def test_only_the_owner_can_deny_tools(alices, program, bob, session):
    made = alices.call("POST", "sessions/", {"denied_tools": ["shell", "file", "shell"]})
    assert (made.status_code, made.json()["denied_tools"]) == (201, ["shell", "file"])
    path = f"sessions/{session.pk}/"
    assert alices.call("PATCH", path, {"denied_tools": ["shell"]}).json()["denied_tools"] == ["shell"]
    for wrong in (["a b"], "shell", [""], None, ["x"] * 201):
        assert alices.call("PATCH", path, {"denied_tools": wrong}).status_code == 422
    session.memberships.update(may_write=True)
    bobs = program(bob)
    assert bobs.call("PATCH", path, {"title": "B", "denied_tools": ["shell"]}).status_code == 200
    answer = bobs.call("PATCH", path, {"denied_tools": []})
    assert (answer.status_code, answer.json()["errors"]["denied_tools"]) == (
        422,
        ["Only the owner of a session changes which tools it has."],
    )
    assert Session.objects.get(pk=session.pk).denied_tools == ["shell"]


def test_title_change_keeps_concurrently_appended_entries(alices, session, task, monkeypatch):
    from tasks_app import services

    change = services.change_session

    def append_first(found, **fields):
        factories.append(task, Draft(context_type=ContextType.USER_MESSAGE, content="In between."))
        change(found, **fields)

    monkeypatch.setattr(services, "change_session", append_first)
    alices.call("PATCH", f"sessions/{session.pk}/", {"title": "New"})
    session.refresh_from_db()
    assert (session.title, session.last_seq) == ("New", 2)


def test_session_with_a_running_task_is_not_deleted(alices, task):
    answer = alices.call("DELETE", f"sessions/{task.session_id}/")
    assert (answer.status_code, answer.json()["title"]) == (409, "Conflict")
    assert Session.objects.filter(pk=task.session_id).exists()


def test_deleted_session_leaves_nothing_behind(alices, session, django_capture_on_commit_callbacks):
    workspace = workspace_of(session)
    workspace.write_bytes("folder/notes.txt", b"x")
    with django_capture_on_commit_callbacks(execute=True):
        assert alices.call("DELETE", f"sessions/{session.pk}/").status_code == 204
    assert alices.call("GET", f"sessions/{session.pk}/").status_code == 404
    assert not workspace.root.exists()


def test_deep_and_unreadable_folders_are_deleted_with_the_session(alices, session, django_capture_on_commit_callbacks):
    root = workspace_of(session).make_root()
    place = os.open(root, os.O_RDONLY)
    for _ in range(1500):  # deeper than the recursion limit
        os.mkdir("deeper", dir_fd=place)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(os.open("notes.txt", os.O_WRONLY | os.O_CREAT, dir_fd=place))
    os.fchmod(place, 0)
    os.close(place)
    with django_capture_on_commit_callbacks(execute=True):
        assert alices.call("DELETE", f"sessions/{session.pk}/").status_code == 204
    left = root.exists()
    subprocess.run(["rm", "-rf", root], check=True)
    assert not left


def test_folder_chosen_by_a_person_is_not_deleted(alices, session, tmp_path, django_capture_on_commit_callbacks):
    (tmp_path / "theirs.txt").write_text("x")
    Session.objects.filter(pk=session.pk).update(workdir=str(tmp_path))
    with django_capture_on_commit_callbacks(execute=True):
        assert alices.call("DELETE", f"sessions/{session.pk}/").status_code == 204
    assert (tmp_path / "theirs.txt").exists()


@pytest.mark.parametrize(
    ("words", "is_found"),
    [("taxes", True), ("INVOICE", True), ("42 files", True), ("nonsense", False), ("", True)]
    + [("%26", True), ("My %26 tax", True), ("%25", False), ("t_xes", False)],
)
def test_search_covers_titles_and_entries(words, is_found, alices, session, task):
    Session.objects.filter(pk=session.pk).update(title="My taxes & fees")
    factories.append(
        task,
        Draft(context_type=ContextType.USER_MESSAGE, content="Where is the invoice?"),
        Draft(context_type=ContextType.NO_TOOL_CALL_RETRY, content="Hm.", thinking=Thinking(text="nothing")),
        result("call_9", "There are 42 files.", "succeeded"),
    )
    found = alices.call("GET", f"sessions/?q={words}").json()["results"]
    assert [row["id"] for row in found] == [str(session.pk)] * is_found


def test_search_excludes_unshared_sessions(program, charlie, session, task):
    Session.objects.filter(pk=session.pk).update(title="My taxes")
    assert program(charlie).call("GET", "sessions/?q=taxes").json()["results"] == []


def test_pages_have_no_gaps_while_sessions_are_added(alices, alice):
    made = [str(factories.SessionFactory(owner=alice).pk) for _ in range(5)]
    seen, path = [], "sessions/?limit=2"
    while path:
        page = alices.call("GET", path).json()
        seen += [row["id"] for row in page["results"]]
        factories.SessionFactory(owner=alice)
        path = page["next"] and page["next"].partition("/api/v1/")[2]
    assert [id for id in seen if id in made] == made[::-1]
    assert len(seen) == len(set(seen))


def test_list_of_any_length_takes_two_queries(alices, alice):
    """The two queries are of the token and of the list."""

    def queries() -> int:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        with CaptureQueriesContext(connection) as captured:
            assert alices.call("GET", "sessions/").status_code == 200
        return len(captured)

    assert queries() == 2
    for _ in range(5):
        factories.TaskFactory(session=factories.SessionFactory(owner=alice))
    assert queries() == 2


def test_pins_archive_and_tags_are_per_user(session, program, alice, bob):
    path = f"sessions/{session.pk}/"
    answer = program(bob).call("PATCH", path, {"pinned": True, "tags": ["Work", "work"]})
    assert answer.status_code == 200
    assert [answer.json()[name] for name in ("pinned", "archived", "tags")] == [True, False, ["work"]]
    assert program(alice).call("GET", path).json()["tags"] == []
    assert program(bob).call("PATCH", path, {"pinned": True, "title": "Mine"}).status_code == 403
    assert program(bob).call("PATCH", path, {"tags": ["a b"]}).status_code == 422
    for query, count in (("tag:work", 1), ("is:archived", 0), ("is:pinned", 1)):
        assert len(program(bob).call("GET", f"sessions/?q={query}").json()["results"]) == count


@pytest.mark.parametrize("query", ["before:2026-13-45", "cats after:soon", "is:nonsense"])
def test_invalid_search_value_is_named(query, alices):
    answer = alices.get("/api/v1/sessions/", {"q": query})
    assert answer.status_code == 422
    assert query.split()[-1] in answer.json()["detail"]


def test_search_returns_the_matching_line(alices, session):
    said = json.dumps({"type": "result", "text": "No.\n\nA **naïve** giraffe."}, ensure_ascii=False)
    call = ToolCall(id="call_1", name="message", arguments=said)
    task = factories.TaskFactory(session=session)
    factories.append(task, Draft(context_type=ContextType.AI_MESSAGE, tool_call=call))
    found = alices.get("/api/v1/sessions/", {"q": "NAI\u0308VE"}).json()["results"]
    assert [row["found_line"] for row in found] == ["A **naïve** giraffe."]
    assert alices.get("/api/v1/sessions/").json()["results"][0]["found_line"] == ""

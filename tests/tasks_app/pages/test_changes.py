"""Changes of a call on its card: diffs without secrets, and undoing after a confirmation."""

import pytest

from llm_app.models import Secret
from tasks_app import services
from tasks_app.models import WorkspaceChange
from tasks_app.templatetags.chat import diff_files, diff_lines
from tasks_app.worker import jobs
from tasks_app.workspace.folders import workspace_of
from tests.tasks_app.engine.conftest import call, result, script
from tools_app.editing.diff import unified

SECRET = "s3cr3t-abcdefgh-1234"


@pytest.fixture
def changed(transactional_db, session, alice):
    """Return a session whose agent has created a file and replaced it, and created another."""
    replies = [
        call("file", action="write", path="a.txt", content="first line\n"),
        call("shell", command=f"echo {SECRET} > a.txt; head -c 40 /dev/zero > b.bin"),
        result(),
    ]
    task = services.post_message(session, alice, script(*replies)).task
    jobs.advance(task.pk)
    return session


def test_changed_line_that_looks_like_a_file_header_is_a_change():
    diff = unified("-- keep\nsame\n", "++ drop\nsame\n", "a.sql")
    assert diff_lines(diff) == [
        ("file", "--- a.sql"),
        ("file", "+++ a.sql"),
        ("place", "@@ -1,2 +1,2 @@"),
        ("removed", "--- keep"),
        ("added", "+++ drop"),
        ("same", " same"),
    ]


@pytest.mark.parametrize(
    ("diff", "files"),
    [
        ("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-1\n+2\n--- a/y.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-1", ["x.py", "y.py"]),
        ("diff --git a/n.py b/n.py\nindex 1..2\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+1", ["n.py"]),
        (
            "*** Begin Patch\n*** Update File: a.py\n@@ def f\n-1\n+2\n*** Add File: b.py\n+3\n*** End Patch",
            ["a.py", "b.py"],
        ),
        ("-old\n+new", [""]),
    ],
)
def test_a_diff_is_shown_by_files(diff, files):
    shown = diff_files(diff)
    assert [name for name, _ in shown] == files
    kinds = {kind for _, lines in shown for kind, _ in lines}
    assert "added" in kinds or "removed" in kinds
    frame = ("*** Begin", "*** End", "diff --git", "index")
    assert [line for _, lines in shown for _, line in lines] == [
        line for line in diff.split("\n") if not line.startswith(frame)
    ]


def address(session, number, verb=""):
    change = WorkspaceChange.objects.filter(session=session).order_by("pk")[number]
    return f"/s/{session.pk}/changes/{change.pk}/{verb}"


def test_card_counts_changed_files(changed, alices):
    page = alices.page(changed.get_absolute_url())
    assert page.count("1 file changed: ") == page.count("2 files changed: ") == 1
    assert f'href="{address(changed, 1)}"' in page


def test_diffs_are_redacted(changed, alices, alice):
    secret = Secret(owner=alice, name="KEY")
    secret.value = SECRET
    secret.save()
    page = alices.page(address(changed, 1))
    assert SECRET not in page
    assert '<span class="removed">-first line' in page
    assert '<span class="added">+[secret:KEY]' in page
    assert "no text to show" in page
    answer = alices.get(address(changed, 1), headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in answer
    assert "Put everything back to before this call" in answer


def test_undo_asks_for_confirmation_and_restores_everything(changed, alices):
    assert "Put everything back?" in alices.page(address(changed, 1, "undo/"))
    assert workspace_of(changed).is_file("b.bin")
    alices.post(address(changed, 1, "undo/"))
    assert workspace_of(changed).read_bytes("a.txt") == b"first line\n"
    assert not workspace_of(changed).is_file("b.bin")


def test_undoing_one_file_updates_the_files_panel(changed, alices):
    answer = alices.htmx(f"{address(changed, 1, 'undo/')}?path=b.bin").content.decode()
    assert "1 file put back" in answer
    assert 'id="files"' in answer
    assert "b.bin" not in answer.partition('id="files"')[2]
    assert SECRET in workspace_of(changed).read_bytes("a.txt").decode()
    again = alices.htmx(f"{address(changed, 1, 'undo/')}?path=b.bin")
    assert (again.status_code, "There is nothing to put back" in again.content.decode()) == (409, True)


def test_reader_sees_changes_and_cannot_undo(changed, browser, bob, charlie):
    assert "Put back" not in browser(bob).page(address(changed, 0))
    assert browser(bob).post(address(changed, 0, "undo/")).status_code == 403
    assert browser(charlie).get(address(changed, 0)).status_code == 404
    assert workspace_of(changed).is_file("a.txt")


def test_change_of_another_session_is_404(changed, alices, alice):
    other = services.create_session(alice)
    number = WorkspaceChange.objects.filter(session=changed).first().pk
    assert alices.get(f"/s/{other.pk}/changes/{number}/").status_code == 404
    assert alices.post(f"/s/{other.pk}/changes/{number}/undo/").status_code == 404


def test_file_deleted_on_the_page_can_be_restored(changed, alices):
    alices.post(f"/s/{changed.pk}/files/delete/?path=b.bin")
    assert not workspace_of(changed).is_file("b.bin")
    alices.post(address(changed, 2, "undo/"))
    assert workspace_of(changed).is_file("b.bin")

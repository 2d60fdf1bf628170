"""The files of a project's library in the workspace: read-only at `library/`, for tools and for programs."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tasks_app import services
from tasks_app.models import LibraryFolder, Project, WorkspaceChange
from tasks_app.services import library
from tasks_app.worker import library_index
from tasks_app.workspace.folders import workspace_of
from tests import factories
from tests.tasks_app.engine.conftest import Run, call, result, script
from tests.tools_app.documents import pdf

PAGES = ("The lander has four legs.", "The guidance computer has 72 kB of memory.", "Fuel is hypergolic.")


@pytest.fixture
def project(owner):
    return Project.objects.create(owner=owner, name="Apollo")


@pytest.fixture
def bring(project, owner):
    """Add files to the library and read them."""

    def bring(*files):
        rows = library.add_files(project, owner, [SimpleUploadedFile(name, data) for name, data in files])
        library_index.read_due()
        return rows

    return bring


@pytest.fixture
def session(owner, project):
    return factories.SessionFactory(owner=owner, project=project, model=factories.scripted_model("script"))


def play(session, *replies, by=None):
    run = Run(services.post_message(session, by or session.owner, script(*replies)).task)
    run.advance()
    return run


def read(path):
    return call("file", action="read", path=path)


def start_of(run):
    return next(entry.content for entry in run.entries if entry.metadata.get("kind") == "task_start")


def test_tools_read_list_and_search_the_library(bring, session):
    bring(("Manual.pdf", pdf(*PAGES)), ("notes.md", b"# Legs\nEach leg is tested twice."))
    run = play(
        session,
        read("library/Manual.pdf"),
        call("file", action="list", path="library"),
        call("match", action="grep", pattern="leg", path="library", ignore_case=True),
        call("match", action="glob", pattern="*.pdf", path="library"),
        result(),
    )
    start = start_of(run)
    assert "library/ (2 inside)" in start
    assert "Manual.pdf" in start
    assert "`library/` has the files of the project's library" in start
    manual, listing, grep, glob, _ = (content for _, content in run.results())
    assert all(page in manual for page in PAGES)
    assert "notes.md" in listing
    assert "library/Manual.pdf" in grep
    assert "Each leg is tested twice." in grep
    assert "library/Manual.pdf" in glob


def test_commands_read_the_library_and_cannot_change_it(bring, session):
    bring(("notes.md", b"Four legs."))
    run = play(
        session, call("shell", command="cat library/notes.md && ! touch library/x && ! rm library/notes.md"), result()
    )
    (status, content), _ = run.results()
    assert (status, "Four legs." in content) == ("succeeded", True)


def test_tools_cannot_change_the_library(bring, session):
    bring(("notes.md", b"Four legs."))
    run = play(
        session,
        call("file", action="write", path="library/notes.md", content="Five."),
        call("file", action="write", path="library/new.md", content="Five."),
        call("file", action="delete", path="library/notes.md"),
        read("library/notes.md"),
        result(),
    )
    *refused, (_, content), _ = run.results()
    assert all(status == "failed" and "project's library" in text for status, text in refused)
    assert "Four legs." in content


def test_a_file_of_the_library_is_copied_before_it_is_handed_over(bring, session):
    bring(("notes.md", b"Four legs."))
    run = play(session, call("message", type="result", text="Here.", attachments=["library/notes.md"]), result())
    assert "copy these files" in run.results()[0][1]


def test_a_folder_of_the_workspace_takes_precedence(bring, session):
    workspace_of(session).write_bytes("library/own.txt", b"Mine.")
    bring(("notes.md", b"Four legs."))
    run = play(
        session,
        read("library/own.txt"),
        read("library/notes.md"),
        call("shell", command="ls library && echo more > library/more.txt"),
        result(),
    )
    own, (missing, _), (_, listing), _ = run.results()
    assert "Mine." in own[1]
    assert missing == "failed"
    assert listing.startswith("own.txt")
    assert "the workspace has its own" in start_of(run)


def test_a_removed_member_loses_the_files_in_the_same_task(bring, project, carol):
    membership = project.memberships.create(user=carol, may_write=True)
    bring(("notes.md", b"Four legs."))
    session = factories.SessionFactory(owner=carol, project=project, model=factories.scripted_model("script"))
    looks = [read("library/notes.md"), call("shell", command="cat library/notes.md")]
    question = call("message", type="ask", text="Shall I go on?")
    run = play(session, *looks, question, *looks, result())
    assert all("Four legs." in content for _, content in run.results()[:2])
    membership.delete()
    services.post_message(session, carol, "Yes.")
    run.task.refresh_from_db()
    run = Run(run.task)
    assert run.advance().state == "done"
    after = run.results()[3:5]
    assert [status for status, _ in after] == ["failed", "succeeded"]
    assert not any("Four legs." in content for _, content in after)


def test_the_library_is_no_part_of_the_workspace(bring, session):
    bring(("notes.md", b"Four legs." * 1000))
    play(session, call("shell", command="cat library/notes.md > /dev/null"), result())
    session.refresh_from_db()
    assert session.files_bytes < 10_000
    assert not WorkspaceChange.objects.filter(session=session).exists()


def test_files_of_the_same_name_and_deleted_files(bring, project):
    first, second = bring(("a.txt", b"one"), ("a.txt", b"three"))
    folder = LibraryFolder(project.pk)
    assert {path.name: path.read_bytes() for path in folder.update().iterdir()} == {
        "a.txt": b"one",
        f"a ({second.pk}).txt": b"three",
    }
    library.delete_file(first)
    assert not list(folder.path.iterdir())
    assert [path.read_bytes() for path in folder.update().iterdir()] == [b"three"]
    project.delete()
    assert not folder.path.exists()


@pytest.mark.parametrize("name", ["a\\..", "a\\.", "x" * 300 + ".pdf", "日本" * 100 + ".pdf", "../../etc/passwd"])
def test_no_name_leads_out_of_the_folder(bring, project, name):
    bring((name, b"one"))
    folder = LibraryFolder(project.pk)
    assert [path.parent for path in folder.update().iterdir()] == [folder.path]

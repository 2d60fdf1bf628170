"""Projects in the admin: their members, the state of each file, and a second attempt for failed files."""

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from llm_app.models import Secret
from tasks_app.models import LibraryFile, LibraryPassage, PassageVector, Project
from tasks_app.services import library
from tests import factories


@pytest.fixture
def project(db):
    owner = factories.UserFactory(username="olga")
    return Project.objects.create(owner=owner, name="Apollo", instructions="Use hunter2-hunter2.")


def page(project):
    return reverse("admin:tasks_app_project_change", args=[project.pk])


def members(*rows):
    given = {"memberships-TOTAL_FORMS": len(rows), "memberships-INITIAL_FORMS": 0}
    given |= {"files-TOTAL_FORMS": 0, "files-INITIAL_FORMS": 0}
    return given | {
        f"memberships-{number}-{name}": value for number, row in enumerate(rows) for name, value in row.items()
    }


def test_project_page_shows_file_states_and_no_secrets(browser, project):
    file = LibraryFile.objects.create(project=project, name="legs.pdf", size=1, state="ready", vectors_of="embed-1")
    passages = [LibraryPassage.objects.create(file=file, page=page, text="x", terms="x") for page in (1, 2, 3)]
    PassageVector.objects.create(passage=passages[0], model="embed-1", values=b"")
    LibraryFile.objects.create(project=project, name="b.pdf", size=1, state="failed", problem="It is damaged.")
    Secret.objects.create(owner=project.owner, name="KEY", value="hunter2-hunter2")
    shown = browser.get(page(project)).content.decode()
    for said in ("legs.pdf", "3, 1 with a vector (embed-1)", "It is damaged.", "Use [secret:KEY]."):
        assert said in shown
    assert "hunter2-hunter2" not in shown


def test_new_member_sees_the_project_and_running_tasks_reload_it(browser, project):
    carol = factories.UserFactory(username="carol")
    row = {"user": carol.pk, "role": "", "project": project.pk}
    assert browser.post(page(project), members(row)).status_code == 302
    assert Project.objects.visible_to(carol).get().version == project.version + 1
    project.refresh_from_db()
    assert (project.name, project.instructions) == ("Apollo", "Use hunter2-hunter2.")


def test_action_retries_failed_files(browser, project):
    file = LibraryFile.objects.create(project=project, name="b.pdf", size=1, state="failed", problem="x", tries=3)
    data = {"action": "read_again", "_selected_action": [project.pk]}
    assert browser.post(reverse("admin:tasks_app_project_changelist"), data).status_code == 302
    file.refresh_from_db()
    assert (file.state, file.problem, file.tries) == ("waiting", "", 0)


def test_deleting_a_project_deletes_its_files_and_keeps_its_sessions(browser, project):
    session = factories.SessionFactory(owner=project.owner, project=project)
    LibraryFile.objects.create(project=project, name="b.pdf", size=1)
    address = reverse("admin:tasks_app_project_delete", args=[project.pk])
    assert browser.post(address, {"post": "yes"}).status_code == 302
    session.refresh_from_db()
    assert (session.project, LibraryFile.objects.exists()) == (None, False)


@pytest.mark.parametrize("kind", ["tasks_app_project", "accounts_user"])
@pytest.mark.parametrize("at_once", [False, True])
def test_stored_files_are_deleted_with_the_project_or_its_owner(
    kind, at_once, browser, project, django_capture_on_commit_callbacks
):
    (file,) = library.add_files(project, project.owner, [SimpleUploadedFile("a.txt", b"private")])
    row = project if kind == "tasks_app_project" else project.owner
    address = reverse(f"admin:{kind}_changelist") if at_once else reverse(f"admin:{kind}_delete", args=[row.pk])
    data = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    with django_capture_on_commit_callbacks(execute=True):
        assert browser.post(address, data).status_code == 302
    assert not Project.objects.exists()
    assert not default_storage.exists(file.storage_name)
    assert not default_storage.exists(f"library/{project.pk}")

"""Projects: access to their sessions, moving sessions, and deletion."""

import uuid

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile

from llm_app.models import Secret
from tasks_app import services
from tasks_app.hub.access_watch import AccessWatch
from tasks_app.models import Agent, LibraryFile, MemoryNote, Project, Session
from tasks_app.record import redactor_of
from tasks_app.services import library
from tasks_app.worker import library_index
from tests import factories
from tests.tools_app.documents import pdf


@pytest.fixture
def project(alice, bob, carol, charlie):
    """Return alice's project, where bob can read and carol can write."""
    found = Project.objects.create(owner=alice, name="Apollo")
    found.memberships.create(user=bob)
    found.memberships.create(user=carol, may_write=True)
    return found


@pytest.fixture
def inside(project, alice):
    return factories.SessionFactory(owner=alice, title="Landing", project=project)


def test_session_in_a_new_project_uses_its_agent(alices, alice):
    factories.scripted_model("demo")
    agent = Agent.objects.create(name="Pilot")
    address = alices.post("/projects/", {"name": " Apollo  11 "})["Location"]
    alices.post(f"{address}change/", {"name": "Apollo 11", "instructions": "Be calm.", "agent": "Pilot"})
    page = alices.page(address)
    assert "Be calm." in page
    assert '<option value="Pilot" selected>' in page
    project = Project.objects.get(owner=alice, name="Apollo 11")
    alices.post(f"/?project={project.pk}", {"content": "Hello"})
    session = Session.objects.get()
    assert (session.project, session.agent) == (project, agent)
    assert session.get_absolute_url() in alices.page(address)


def test_members_see_sessions_as_shared(inside, alice, bob, carol, charlie, browser):
    address = inside.get_absolute_url()
    assert "read-only" in browser(bob).page(address)
    assert 'id="composer"' in browser(carol).page(address)
    assert browser(charlie).get(address).status_code == 404
    child = Session.objects.create(owner=alice, root=inside, folder="children/1", project=inside.project)
    standings = AccessWatch().statuses([inside.pk, child.pk])
    assert [standings[pk].rights for pk in (inside.pk, child.pk)] == [
        {alice.pk: True, bob.pk: False, carol.pk: True}
    ] * 2
    assert inside.is_open_to_others(alice)


def test_removed_member_sees_nothing(inside, project, alices, bob, browser):
    member = project.memberships.get(user=bob)
    alices.post(f"/projects/{project.pk}/share/", {"do": "remove", "id": member.pk})
    for address in (inside.get_absolute_url(), project.get_absolute_url()):
        assert browser(bob).get(address).status_code == 404
    assert bob.pk not in AccessWatch().statuses([inside.pk])[inside.pk].rights


def test_member_who_leaves_keeps_only_own_sessions(inside, project, browser, bob, carol):
    own = factories.SessionFactory(owner=carol, title="Fuel", project=project)
    carols, address = browser(carol), f"{project.get_absolute_url()}leave/"
    assert address in carols.page(project.get_absolute_url())
    assert "Leave the project" in carols.page(address)
    assert project.memberships.count() == 2
    version = project.version
    assert carols.post(address)["Location"] == "/projects/"
    assert "You have left “Apollo”." in carols.page("/projects/")
    assert (
        carols.get(project.get_absolute_url()).status_code == carols.get(inside.get_absolute_url()).status_code == 404
    )
    assert "Fuel" in carols.page(own.get_absolute_url())
    assert "Fuel" in browser(bob).page(own.get_absolute_url())
    project.refresh_from_db()
    assert project.version > version  # running tasks check who is in it


def test_owner_and_members_by_role_cannot_leave(project, alices, alice, bob, browser):
    address = f"{project.get_absolute_url()}leave/"
    assert address not in alices.page(project.get_absolute_url())
    alices.post(address)
    assert "A project needs its owner" in alices.page(project.get_absolute_url())
    bob.groups.add(role := Group.objects.create(name="crew"))
    project.memberships.create(role=role)
    bobs = browser(bob)
    bobs.post(address)
    assert "by a role of yours" in bobs.page(project.get_absolute_url())
    assert project.memberships.filter(user=bob).exists()


def test_sharing_with_a_role_includes_later_members(inside, project, alices, alice, charlie, browser):
    role = Group.objects.create(name="analysts")
    alice.groups.add(role)
    alices.post(f"/projects/{project.pk}/share/", {"do": "add", "role": "analysts", "rights": "write"})
    assert browser(charlie).get(inside.get_absolute_url()).status_code == 404
    charlie.groups.add(role)
    assert 'id="composer"' in browser(charlie).page(inside.get_absolute_url())


def test_secrets_of_writers_are_redacted(inside, project, alices, carol):
    Secret.objects.create(owner=carol, name="HERS", value="carols-s3cr3t-value")
    assert redactor_of(inside).redacted("carols-s3cr3t-value") == "[secret:HERS]"
    services.change_project(project, instructions="It is carols-s3cr3t-value.")
    assert Project.objects.get(pk=project.pk).instructions == "It is [secret:HERS]."


DEEDS = [("", None), ("change/", {"name": "Mine"}), ("share/", {"do": "add", "person": "charlie"}), ("delete/", {})]


@pytest.mark.parametrize(("path", "form"), DEEDS)
def test_project_of_other_users_is_404(path, form, project, browser, charlie):
    for pk in (project.pk, uuid.uuid4()):
        answer = (
            browser(charlie).post(f"/projects/{pk}/{path}", form) if path else browser(charlie).get(f"/projects/{pk}/")
        )
        assert answer.status_code == 404
    assert browser(charlie).post(f"/?project={project.pk}", {"content": "x"}).status_code == 404


@pytest.mark.parametrize(("who", "statuses"), [("bob", [403, 403, 403]), ("carol", [302, 403, 403])])
def test_readers_change_nothing_and_only_the_owner_shares_and_deletes(who, statuses, project, browser, request):
    somebody = browser(request.getfixturevalue(who))
    assert [somebody.post(f"/projects/{project.pk}/{path}", form).status_code for path, form in DEEDS[1:]] == statuses
    if who == "bob":
        assert somebody.post(f"/?project={project.pk}", {"content": "x"}).status_code == 403
        assert 'name="instructions"' not in somebody.page(project.get_absolute_url())


def test_moving_a_session_in_needs_confirmation_and_out_does_not(project, alice, alices, bob, browser):
    mine = factories.SessionFactory(owner=alice, title="Private")
    move = f"/s/{mine.pk}/project/"
    asked = alices.post(move, {"project": project.pk}).content.decode()
    assert "2 more people will see it." in asked
    mine.refresh_from_db()
    assert mine.project is None
    alices.post(move, {"project": project.pk, "confirmed": "1"})
    assert browser(bob).get(mine.get_absolute_url()).status_code == 200
    alices.post(move, {"project": ""})
    assert browser(bob).get(mine.get_absolute_url()).status_code == 404


def test_only_owners_move_sessions_into_projects_they_can_write(project, inside, alice, bob, carol, browser):
    of_bob = factories.SessionFactory(owner=bob)
    assert browser(bob).post(f"/s/{of_bob.pk}/project/", {"project": project.pk, "confirmed": "1"}).status_code == 404
    assert browser(carol).post(f"/s/{inside.pk}/project/", {"project": ""}).status_code == 403
    of_carol = factories.SessionFactory(owner=carol, project=project)
    assert browser(alice).post(f"/s/{of_carol.pk}/project/", {"project": ""}).status_code == 302  # the project's owner
    of_carol.refresh_from_db()
    assert of_carol.project is None


def test_deleting_a_project_needs_confirmation_and_keeps_sessions(project, inside, alices, bob, browser):
    assert "Its sessions are kept" in alices.page(f"/projects/{project.pk}/delete/")
    assert Project.objects.exists()
    alices.post(f"/projects/{project.pk}/delete/")
    assert not Project.objects.exists()
    assert alices.get(inside.get_absolute_url()).status_code == 200
    assert browser(bob).get(inside.get_absolute_url()).status_code == 404


def test_names_and_instructions_are_escaped(project, inside, alices):
    services.change_project(
        project, name="<script>alert(1)</script>", instructions="</textarea><script>alert(1)</script>"
    )
    for address in ("/", "/projects/", "/sessions/", project.get_absolute_url(), f"/s/{inside.pk}/project/"):
        assert "<script>alert" not in alices.page(address)


def test_sidebar_has_only_own_sessions_of_a_project(project, inside, alice, bob, browser):
    page = browser(bob).page("/inbox/")
    assert "Apollo" in page
    assert "Landing" not in page
    assert "Landing" in browser(alice).page("/inbox/")
    assert "<span>Apollo</span>" in browser(bob).page("/sessions/")
    assert f'<a href="{project.get_absolute_url()}">' in browser(bob).page(inside.get_absolute_url())


def test_reader_of_a_session_does_not_see_its_project(project, inside, charlie, browser):
    factories.MemberFactory(session=inside, user=charlie)
    for address in (inside.get_absolute_url(), "/sessions/", "/"):
        assert "Apollo" not in browser(charlie).page(address)


@pytest.fixture
def manual(project, alice):
    (file,) = library.add_files(project, alice, [SimpleUploadedFile("Manual.pdf", pdf("Four legs.", "One computer."))])
    library_index.read_due()
    return LibraryFile.objects.get(pk=file.pk)


def test_library_page_shows_picture_and_text(manual, project, browser, bob):
    page = browser(bob).page(f"/library/{manual.pk}/?page=2")
    assert "One computer." in page
    assert f"/library/{manual.pk}/2.png" in page
    assert browser(bob).get(f"/library/{manual.pk}/2.png").content.startswith(b"\x89PNG")
    assert browser(bob).get(f"/library/{manual.pk}/3.png").status_code == 404
    saved = browser(bob).get(f"/library/{manual.pk}/file/")
    assert (saved["Content-Disposition"], saved["X-Content-Type-Options"]) == (
        'attachment; filename="Manual.pdf"',
        "nosniff",
    )


def test_writers_add_files_and_the_list_shows_progress(project, browser, carol, bob):
    upload = lambda who: browser(who).post(  # noqa: E731
        f"/projects/{project.pk}/library/", {"files": SimpleUploadedFile("<b>.txt", b"Legs.")}
    )
    assert upload(bob).status_code == 403
    assert upload(carol).status_code == 302
    page = browser(bob).page(project.get_absolute_url())
    assert "_b_.txt" in page
    assert 'hx-trigger="every 2s"' in page
    library_index.read_due()
    assert 'hx-trigger="every 2s"' not in browser(bob).page(project.get_absolute_url())


@pytest.mark.parametrize("path", ["", "delete/", "file/", "1.png"])
def test_file_of_other_users_is_404(path, manual, browser, charlie, bob):
    assert browser(charlie).get(f"/library/{manual.pk}/{path}").status_code == 404
    assert browser(charlie).get(f"/library/0/{path}").status_code == 404
    if path == "delete/":
        assert browser(bob).post(f"/library/{manual.pk}/{path}").status_code == 403


def test_citation_links_to_the_page(alices):
    from tasks_app.pages.markdown import markdown

    assert 'href="/library/7/?page=3"' in markdown("[Manual.pdf, page 3](library:7/3)")
    for address in ("library:7/3/../../admin", "library:x/3", "/library/7/delete/", "library://a.b/3"):
        assert "href" not in markdown(f"[x]({address})")


def test_project_notes_are_written_by_writers_and_read_by_members(project, browser, alice, bob, carol):
    assert browser(bob).post("/memory/add/", {"text": "Tea.", "project": project.pk}).status_code == 403
    browser(carol).post("/memory/add/", {"text": "The probe is blue.", "project": project.pk})
    note = MemoryNote.objects.get(project=project, owner=None)
    assert "The probe is blue." in browser(bob).page(project.get_absolute_url())
    assert "The probe is blue." not in browser(carol).page("/memory/")
    private = factories.SessionFactory(owner=alice, title="My salary")  # it was in the project before
    MemoryNote.objects.update(task=factories.TaskFactory(session=private))
    assert "My salary" in browser(alice).page(project.get_absolute_url())
    assert "My salary" not in browser(bob).page(project.get_absolute_url())
    assert browser(bob).post(f"/memory/{note.pk}/delete/").status_code == 404
    assert browser(alice).post(f"/memory/{note.pk}/delete/")["Location"] == project.get_absolute_url()
    assert not MemoryNote.objects.exists()


def test_new_secret_is_redacted_in_instructions_and_files(alices, alice, carol, project, bob, browser):
    services.change_project(project, name="hunter2-hunter2", instructions="Log in with hunter2-hunter2.")
    (file,) = library.add_files(project, alice, [SimpleUploadedFile("a.txt", b"The door opens with hunter2-hunter2.")])
    library_index.read_due()
    Secret.objects.create(owner=carol, name="KEY", value="hunter2-hunter2")
    for page in (project.get_absolute_url(), file.get_absolute_url()):
        shown = browser(bob).page(page)
        assert "[secret:KEY]." in shown
        assert "Log in with hunter2-hunter2" not in shown
        assert "opens with hunter2-hunter2" not in shown
    answered = browser(bob).get(f"/api/v1/projects/{project.pk}/").json()
    assert (answered["name"], answered["instructions"]) == ("[secret:KEY]", "Log in with [secret:KEY].")
    project.refresh_from_db()
    assert project.instructions == "Log in with hunter2-hunter2."

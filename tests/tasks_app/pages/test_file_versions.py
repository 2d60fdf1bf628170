"""Earlier versions of files, restored by users with write permission."""

import pytest
from django.test import AsyncClient

from tasks_app import services
from tasks_app.models import FileChange
from tasks_app.worker import jobs
from tasks_app.workspace.folders import workspace_of
from tests.tasks_app.engine.conftest import call, result, script

WRITES = [call("file", action="write", path="a.txt", content=text) for text in ("one", "two", "three")]


@pytest.fixture
def changed(transactional_db, session, alice):
    """Return a session in which the agent has overwritten a file twice and deleted it."""
    replies = [*WRITES, call("shell", command="rm a.txt"), result()]
    task = services.post_message(session, alice, script(*replies)).task
    jobs.advance(task.pk)
    return session


def versions(session):
    return FileChange.objects.versions_of(session)


async def content_of(user, address):
    client = AsyncClient()
    await client.aforce_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    response = await client.get(address)
    return response.status_code, b"".join([part async for part in response]) if response.streaming else b""


def test_replaced_and_deleted_contents_are_kept(changed):
    assert [(row.path, row.content.read_bytes()) for row in versions(changed)] == [
        ("a.txt", content) for content in (b"three", b"two", b"one")
    ]


def test_page_lists_versions_and_restores_one(changed, alices):
    page = alices.get(f"{changed.get_absolute_url()}versions/").content.decode()
    assert page.count("Restore") == 3
    alices.post(f"{changed.get_absolute_url()}versions/{versions(changed).last().pk}/restore/")
    assert workspace_of(changed).read_bytes("a.txt") == b"one"


def test_page_names_folders_outside_the_history(changed, alices):
    workspace_of(changed).write_bytes("node_modules/x.js", b"x")
    alices.post(f"{changed.get_absolute_url()}versions/{versions(changed).last().pk}/restore/")
    assert "<code>node_modules/</code>" in alices.get(f"{changed.get_absolute_url()}versions/").content.decode()


async def test_contents_need_access_to_the_session(changed, alice, bob, charlie):
    version = await versions(changed).alast()
    for address in (f"/s/{changed.pk}/versions/{version.pk}/", f"/api/v1/sessions/{changed.pk}/versions/{version.pk}/"):
        assert await content_of(alice, address) == (200, b"one")
        assert await content_of(bob, address) == (200, b"one")
        assert (await content_of(charlie, address))[0] == 404


def test_version_of_another_session_is_404(changed, alices, alice):
    other = services.create_session(alice)
    version = versions(changed).last()
    assert alices.get(f"/s/{other.pk}/versions/{version.pk}/").status_code == 404
    assert alices.post(f"/s/{other.pk}/versions/{version.pk}/restore/").status_code == 404


def test_reader_cannot_restore(changed, browser, bob):
    version = versions(changed).last()
    assert browser(bob).post(f"/s/{changed.pk}/versions/{version.pk}/restore/").status_code == 403
    assert not workspace_of(changed).is_file("a.txt")

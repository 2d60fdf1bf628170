"""What the agent overwrote or deleted can be had back, by those who may write in the session."""

import pytest
from django.test import AsyncClient

from tasks_app import services
from tasks_app.engine.effects import versions
from tasks_app.models import FileVersion
from tasks_app.worker import jobs
from tasks_app.workspaces import workspace_of
from tests.tasks_app.engine.conftest import call, result, script
from tools_app.contract.effects import KeepVersion

WRITES = [call("file", action="write", path="a.txt", content=text) for text in ("one", "two", "three")]


@pytest.fixture
def changed(transactional_db, session, alice):
    """A session in which the agent has overwritten a file twice and deleted it."""
    replies = [*WRITES, call("file", action="delete", path="a.txt"), result()]
    task = services.post_message(session, alice, script(*replies)).task
    jobs.advance(task.pk)
    return session


async def content_of(user, address):
    client = AsyncClient()
    await client.aforce_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    response = await client.get(address)
    return response.status_code, b"".join([part async for part in response]) if response.streaming else b""


def test_each_content_that_was_replaced_or_deleted_is_kept(changed):
    rows = FileVersion.objects.filter(session=changed)
    assert [(row.path, row.content.read_bytes()) for row in rows] == [
        ("a.txt", content) for content in (b"three", b"two", b"one")
    ]


def test_the_page_lists_them_and_puts_one_back(changed, alices):
    page = alices.get(f"{changed.get_absolute_url()}versions/").content.decode()
    assert page.count("Restore") == 3
    oldest = FileVersion.objects.last()
    alices.post(f"{changed.get_absolute_url()}versions/{oldest.pk}/restore/")
    assert workspace_of(changed).read_bytes("a.txt") == b"one"


async def test_only_those_who_may_see_the_session_get_a_content(changed, alice, bob, charlie):
    version = await FileVersion.objects.alast()
    for address in (f"/s/{changed.pk}/versions/{version.pk}/", f"/api/v1/sessions/{changed.pk}/versions/{version.pk}/"):
        assert await content_of(alice, address) == (200, b"one")
        assert await content_of(bob, address) == (200, b"one")
        assert (await content_of(charlie, address))[0] == 404


def test_a_version_is_not_found_under_another_session(changed, alices, alice):
    other = services.create_session(alice)
    version = FileVersion.objects.last()
    assert alices.get(f"/s/{other.pk}/versions/{version.pk}/").status_code == 404
    assert alices.post(f"/s/{other.pk}/versions/{version.pk}/restore/").status_code == 404


def test_who_may_only_read_puts_nothing_back(changed, browser, bob):
    version = FileVersion.objects.last()
    assert browser(bob).post(f"/s/{changed.pk}/versions/{version.pk}/restore/").status_code == 403
    assert not workspace_of(changed).is_file("a.txt")


def test_the_newest_twenty_of_a_file_are_kept_and_equal_contents_once(session):
    for number in range(25):
        content = str(number % 24).encode()
        versions.keep(session, None, KeepVersion(path="a", data=content)).save()
    assert FileVersion.objects.filter(session=session).count() == FileVersion.MOST
    kept = {row.content for row in FileVersion.objects.all()}
    assert set(FileVersion.objects.first().content.parent.iterdir()) == kept


def test_the_oldest_go_where_all_of_a_session_are_too_much(session, monkeypatch):
    monkeypatch.setattr(FileVersion, "MOST_BYTES", 10)
    for number in range(5):
        versions.keep(session, None, KeepVersion(path=f"{number}.txt", data=b"x" * (3 + number % 2))).save()
    rows = FileVersion.objects.filter(session=session)
    assert [row.path for row in rows] == ["4.txt", "3.txt", "2.txt"]
    assert all(row.content.exists() for row in rows)


def test_a_content_that_the_same_result_keeps_under_another_name_does_not_go_with_an_old_version(session, monkeypatch):
    monkeypatch.setattr(FileVersion, "MOST", 1)
    versions.keep(session, None, KeepVersion(path="a.txt", data=b"same")).save()
    moved = versions.keep(session, None, KeepVersion(path="b.txt", data=b"same"))
    newer = versions.keep(session, None, KeepVersion(path="a.txt", data=b"new"), [moved])
    FileVersion.objects.bulk_create([moved, newer])
    assert [row.content.read_bytes() for row in FileVersion.objects.all()] == [b"new", b"same"]


def test_they_go_with_their_session(changed):
    folder = FileVersion.objects.first().content.parent
    services.delete_session(changed)
    assert not folder.exists()

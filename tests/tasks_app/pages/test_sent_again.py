"""A form that is submitted again after a lost response has an effect only once."""

import re
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from tasks_app.models import Session
from tasks_app.workspace.folders import workspace_of
from tests.tasks_app.pages.conftest import Browser


def _key(page: str) -> str:
    found = re.search(r'name="key" value="(\w+)"', page)
    assert found
    return found[1]


def _messages(session: Session) -> int:
    return session.inbox.count()


def test_repeated_form_creates_one_message(alices: Browser, session: Any) -> None:
    address = session.get_absolute_url()
    form = {"content": "Hello.", "key": _key(alices.page(address))}
    for _ in range(2):
        assert alices.htmx(f"{address}messages/", form).status_code < 400
    assert _messages(session) == 1


def test_different_text_or_page_load_creates_another_message(alices: Browser, session: Any) -> None:
    address = session.get_absolute_url()
    key, another = _key(alices.page(address)), _key(alices.page(address))
    for form in ({"key": key}, {"key": another}, {"key": key, "content": "Hi."}, {}):
        alices.htmx(f"{address}messages/", {"content": "Hello.", **form})
    assert _messages(session) == 4


def test_refused_form_can_be_sent_again(alices: Browser, session: Any) -> None:
    address = session.get_absolute_url()
    key = _key(alices.page(address))
    assert alices.htmx(f"{address}messages/", {"content": " ", "key": key}).status_code == 422
    assert alices.htmx(f"{address}messages/", {"content": "Hello.", "key": key}).status_code < 400
    assert _messages(session) == 1


def test_repeated_first_message_creates_one_session(alices: Browser) -> None:
    form = {"content": "Hello.", "key": _key(alices.page("/"))}
    first, again = (alices.htmx("/", form)["HX-Redirect"] for _ in range(2))
    assert first == again
    (session,) = Session.objects.all()
    assert session.get_absolute_url() == first
    assert session.tasks.count() == 1


def test_same_first_message_from_another_page_load_creates_a_session(alices: Browser) -> None:
    addresses = {
        alices.htmx("/", {"content": "Hello.", "key": _key(alices.page("/"))})["HX-Redirect"] for _ in range(2)
    }
    assert len(addresses) == 2


def test_repeated_first_message_after_deletion_creates_a_session(alices: Browser) -> None:
    form = {"content": "Hello.", "key": _key(alices.page("/"))}
    first = alices.htmx("/", form)["HX-Redirect"]
    Session.objects.all().delete()
    assert alices.htmx("/", form)["HX-Redirect"] != first


def test_repeated_message_stores_its_files_once(alices: Browser, session: Any) -> None:
    address = f"{session.get_absolute_url()}messages/"
    for content in ("Read.", "Read.", "Read this."):
        file = SimpleUploadedFile("notes.txt", b"hello")
        assert alices.htmx(address, {"content": content, "key": "1", "files": [file]}).status_code == 204
    assert {entry.name for entry in workspace_of(session).entries()} == {"notes.txt", "notes-2.txt"}

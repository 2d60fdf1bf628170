"""The exact request of a call in the admin, and the verification of a session's record."""

from typing import Any

import pytest
from django.test import Client

from tasks_app.models import ContextEntry, Session
from tests import factories

CALLS, SESSIONS = "/admin/llm_app/llmlog/", "/admin/tasks_app/session/"


@pytest.fixture
def call(db: None) -> Any:
    return factories.kept_call(factories.SessionFactory(title="A talk"))


def test_call_page_shows_the_request(call: Any, browser: Client) -> None:
    page = browser.get(f"{CALLS}{call.pk}/change/").content.decode()
    for shown in ("Be brief.", "the first call of its session", f"{CALLS}{call.pk}/request/"):
        assert shown in page


def test_call_page_shows_new_parts_of_the_request(call: Any, browser: Client) -> None:
    second = factories.kept_call(Session.objects.get(), "Hello again.")
    page = browser.get(f"{CALLS}{second.pk}/change/").content.decode()
    assert "Hello again." in page.partition("New since")[2].partition("</pre>")[0]


def test_downloading_request_bytes_needs_view_permission(call: Any, browser: Client, client: Client) -> None:
    address = f"{CALLS}{call.pk}/request/"
    assert len(browser.get(address).content) == call.request_bytes
    client.force_login(factories.UserFactory(is_staff=True))
    assert client.get(address).status_code == 403


def test_call_without_a_stored_prompt_is_explained(db: None, browser: Client) -> None:
    page = browser.get(f"{CALLS}{factories.log().pk}/change/").content.decode()
    assert "can no longer be rebuilt" in page


def test_session_record_is_verified_on_demand(call: Any, browser: Client) -> None:
    session = Session.objects.get()
    form = {"action": "check_record", "_selected_action": [session.pk]}
    assert "Check the record" in browser.get(f"{SESSIONS}{session.pk}/change/").content.decode()
    assert "1 calls rebuilt, 0 mismatches" in browser.post(SESSIONS, form, follow=True).content.decode()
    Session.objects.update(last_seq=3)
    page = browser.post(SESSIONS, form, follow=True).content.decode()
    assert "The tail is missing: entries 1 to 3." in page
    assert not ContextEntry.objects.exists()

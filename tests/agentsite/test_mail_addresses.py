"""Links in mails that pages send: they lead to AGENTSITE_URL, for any host and port of the request."""

import re
from typing import Any

import pytest
from django.test import Client

PUBLIC = "https://agents.example.org"
RESET = "/accounts/password/reset/"


@pytest.fixture
def reset(alice: Any, settings: Any, mailoutbox: Any) -> Any:
    """Ask for a new password under another host; return the mail."""
    alice.email = "alice@example.org"
    alice.save()
    settings.ALLOWED_HOSTS = ["inside", "testserver"]

    def ask(email: str = "alice@example.org") -> Any:
        Client().post(RESET, {"email": email}, headers={"Host": "inside:8123"})
        return mailoutbox[-1]

    return ask


def test_password_reset_link_uses_the_public_address(reset: Any, settings: Any, alice: Any) -> None:
    settings.AGENTSITE_URL = PUBLIC
    mail = reset()
    assert "inside" not in mail.subject + mail.body
    link = re.search(rf"{PUBLIC}(/accounts/password/reset/key/\S+)", mail.body)
    assert link is not None
    page = Client().get(link[1], follow=True)
    assert page.status_code == 200
    assert 'name="password1"' in page.content.decode()


def test_mail_to_an_unknown_address_names_only_the_public_host(reset: Any, settings: Any) -> None:
    settings.AGENTSITE_URL = PUBLIC
    mail = reset("nobody@example.org")
    assert "inside" not in mail.subject + mail.body


def test_without_a_public_address_the_request_host_is_used(reset: Any) -> None:
    assert "http://inside:8123/accounts/password/reset/key/" in reset().body

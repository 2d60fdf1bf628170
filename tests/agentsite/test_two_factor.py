"""The second factor: required for every sign-in, valid once, protected against guessing, and resettable."""

import logging
import re

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import caches
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from agentsite.accounts import sign_in, two_factor
from agentsite.accounts.models import User
from tests import factories, totp

RIGHT = "a password"  # that of the factory
AUTHENTICATE = "/accounts/2fa/authenticate/"


@pytest.fixture
def person(db: None) -> User:
    caches["tries"].clear()
    return factories.UserFactory(username="alice")


@pytest.fixture
def key(person: User) -> str:
    """The key of a phone that was set up on the pages."""
    client = signed_in(Client())
    client.post("/accounts/reauthenticate/", {"password": RIGHT})
    page = client.get("/accounts/2fa/totp/activate/").content.decode()
    assert "data:image/svg+xml;base64," in page
    found = re.search(r'id="totp-secret">(\w+)<', page)
    assert found
    answer = client.post("/accounts/2fa/totp/activate/", {"code": totp.code(found[1], later=-1)}, follow=True)
    person.codes = re.findall(r"<code>(\d{8})</code>", answer.content.decode())
    assert len(person.codes) == 10
    return found[1]


def signed_in(client: Client) -> Client:
    client.post("/accounts/login/", {"login": "alice", "password": RIGHT})
    return client


def is_in(client: Client) -> bool:
    return client.get("/settings/").status_code == 200


def test_code_is_required_after_the_password_and_works_once(key):
    client, code = signed_in(Client()), totp.code(key)
    assert not is_in(client)
    assert client.post(AUTHENTICATE, {"code": "000000"}).status_code == 200
    assert not is_in(client)
    assert client.post(AUTHENTICATE, {"code": code}).status_code == 302
    assert is_in(client)
    caches["default"].clear()  # allauth remembers a code for 30 s there, and it is valid for 90 s
    again = signed_in(Client())
    for spelling in (code, f"{code[:3]} {code[3:]}", f"-{code}"):
        again.post(AUTHENTICATE, {"code": spelling})
        assert not is_in(again)


def test_recovery_code_works_once(person, key):
    for worked in (True, False):
        client = signed_in(Client())
        client.post(AUTHENTICATE, {"code": person.codes[3]})
        assert is_in(client) == worked


def test_sign_in_link_and_admin_require_a_code_too(person, key):
    User.objects.update(is_staff=True, is_superuser=True)
    client = Client()
    answer = client.get(reverse("sign_in_link", args=[sign_in.token(User.objects.get())]), follow=True)
    assert answer.redirect_chain[-1][0] == AUTHENTICATE
    assert not is_in(client)
    answer = client.get("/admin/", follow=True)
    assert AUTHENTICATE in answer.redirect_chain[-1][0]
    client.post(AUTHENTICATE, {"code": totp.code(key)})
    assert client.get("/admin/").status_code == 200


def test_code_attempts_are_limited(key):
    client = signed_in(Client())
    answers = [
        client.post(AUTHENTICATE, {"code": f"{guess:06}"}, REMOTE_ADDR=f"203.0.113.{guess}") for guess in range(9)
    ]
    assert [answer.status_code for answer in answers] == [200] * 6 + [429] * 3
    assert client.post(AUTHENTICATE, {"code": totp.code(key)}).status_code == 429


def test_keys_are_stored_encrypted(key):
    stored = {row.type: row.data for row in Authenticator.objects.all()}
    assert stored["totp"]["secret"].startswith("gAAAA")
    assert stored["recovery_codes"]["seed"].startswith("gAAAA")


def test_user_signs_in_with_the_password_after_a_reset(person, key, caplog, capsys):
    with caplog.at_level(logging.WARNING, two_factor.__name__):
        call_command("reset_two_factor", "alice")
    assert "the second factor of alice was reset by manage.py reset_two_factor" in caplog.text
    assert is_in(signed_in(Client()))


def test_admin_action_resets_the_second_factor(admin_client, person, key, caplog):
    address = reverse("admin:accounts_user_changelist")
    chosen = {"action": "reset_two_factor", "_selected_action": [person.pk]}
    answer = admin_client.post(address, chosen, follow=True)
    assert "alice signs in with the password alone" in answer.content.decode()
    assert "the second factor of alice was reset by admin" in caplog.text
    assert not Authenticator.objects.exists()

"""The last administrator: a server always has one, and a restart does not change it."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse

from agentsite.accounts.models import User
from agentsite.serving import first_start
from tests import factories
from tests.agentsite.test_admin_rights import change

NO_POLICY = {"tool_policy-TOTAL_FORMS": "0", "tool_policy-INITIAL_FORMS": "0"}


@pytest.fixture
def last(db: None) -> User:
    person: User = factories.UserFactory(username="olga", is_staff=True, is_superuser=True)
    return person


@pytest.fixture
def browser(last: User) -> Client:
    client = Client()
    client.force_login(last, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


@pytest.mark.parametrize("lost", ["is_active", "is_superuser"])
def test_last_administrator_cannot_lose_rights(browser: Client, last: User, lost: str) -> None:
    given = {"is_active": "on", "is_superuser": "on", "is_staff": "on", **NO_POLICY} | {lost: ""}
    assert change(browser, last, **given) == 200
    last.refresh_from_db()
    assert last.is_active
    assert last.is_superuser
    factories.UserFactory(is_superuser=True)
    assert change(browser, last, **given) == 302


def test_last_administrator_cannot_be_deleted(browser: Client, last: User) -> None:
    address = reverse("admin:accounts_user_delete", args=[last.pk])
    assert "would leave nobody who administers this server" in browser.get(address).content.decode()
    browser.post(address, {"post": "yes"})
    assert User.objects.filter(pk=last.pk).exists()


def test_start_creates_no_second_administrator(last: User) -> None:
    admin = first_start.ensure_admin()
    assert (admin.user, admin.password) == (last, "")
    assert User.objects.count() == 1


def test_start_fails_if_the_administrators_name_is_taken(last: User) -> None:
    User.objects.update(username="admin", is_active=False)
    with pytest.raises(ImproperlyConfigured, match="Set AGENTSITE_ADMIN_USERNAME to a new name"):
        first_start.ensure_admin()

"""Staff who can change users or roles, but are not superusers, gain no further rights."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse

from agentsite.accounts.models import User
from tests import factories


@pytest.fixture
def clerk(db: None) -> User:
    """A member of staff who can change accounts."""
    person: User = factories.UserFactory(username="clerk", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(content_type__model__in=["user", "group"]))
    return person


@pytest.fixture
def browser(clerk: User) -> Client:
    client = Client()
    client.force_login(clerk, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def change(browser: Client, user: User, **fields: Any) -> int:
    given = {"username": user.username, "is_active": "on", "date_joined_0": "2026-01-01", "date_joined_1": "10:00"}
    return browser.post(reverse("admin:accounts_user_change", args=[user.pk]), given | fields).status_code


def test_staff_can_change_users_but_not_their_rights(browser: Client) -> None:
    person, role = factories.UserFactory(), Group.objects.create(name="engineers")
    may = Permission.objects.get(codename="change_limits").pk
    rights = {"is_superuser": "on", "is_staff": "on", "groups": [role.pk], "user_permissions": [may]}
    assert change(browser, person, first_name="Ada", **rights) == 302
    person.refresh_from_db()
    assert (person.first_name, person.is_superuser, person.is_staff) == ("Ada", False, False)
    assert not person.groups.exists()
    assert not person.user_permissions.exists()


def test_only_superusers_change_staff_and_superusers(browser: Client, root: User, clerk: User) -> None:
    for person in (root, clerk):
        assert change(browser, person, is_superuser="on", email="clerk@example.com") == 403
        passwords = {"password1": "an open door", "password2": "an open door"}
        assert browser.post(reverse("admin:auth_user_password_change", args=[person.pk]), passwords).status_code == 403
        assert browser.post(reverse("admin:accounts_user_delete", args=[person.pk]), {"post": "yes"}).status_code == 403
    assert set(User.objects.filter(email="").values_list("username", "is_superuser")) == {
        ("root", True),
        ("clerk", False),
    }


def test_staff_cannot_reset_a_superusers_second_factor(browser: Client, root: User) -> None:
    Authenticator.objects.create(user=root, type="totp", data={})
    chosen = {"action": "reset_two_factor", "_selected_action": [root.pk]}
    said = browser.post(reverse("admin:accounts_user_changelist"), chosen, follow=True).content.decode()
    assert "Only superusers reset the second factor of root." in said
    assert Authenticator.objects.exists()


def test_staff_can_rename_roles_but_not_change_their_rights(browser: Client) -> None:
    role = Group.objects.create(name="engineers")
    may = Permission.objects.get(codename="change_limits").pk
    address = reverse("admin:auth_group_change", args=[role.pk])
    assert browser.post(address, {"name": "builders", "permissions": [may]}).status_code == 302
    role.refresh_from_db()
    assert role.name == "builders"
    assert not role.permissions.exists()

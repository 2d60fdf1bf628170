"""Deletion in the admin of rows whose parts cannot be deleted alone."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from agentsite.accounts.models import User
from llm_app.breaker import changes
from llm_app.models import BreakerChange, BreakerState, LearnedQuirk, Provider
from tasks_app.models import Session
from tests import factories

LIST = "admin:llm_app_provider_changelist"


@pytest.fixture
def provider(db: None) -> Provider:
    """A provider with a history."""
    row: Provider = factories.RouteFactory().provider
    changes.force(row, BreakerState.OPEN, None)
    LearnedQuirk.objects.create(provider=row, provider_model="m", quirk="stream_usage", value=False)
    return row


def test_deleting_a_provider_deletes_its_history(provider: Provider, browser: Client) -> None:
    browser.post(reverse("admin:llm_app_provider_delete", args=[provider.pk]), {"post": "yes"})
    assert not Provider.objects.exists()
    assert not BreakerChange.objects.exists()


def test_deleting_several_providers_deletes_their_histories(provider: Provider, browser: Client) -> None:
    chosen = {"action": "delete_selected", "_selected_action": [provider.pk], "post": "yes"}
    browser.post(reverse(LIST), chosen)
    assert not Provider.objects.exists()


def test_deleting_its_routes_needs_their_permission(provider: Provider, client: Client) -> None:
    clerk = factories.UserFactory(is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename__in=["view_provider", "delete_provider"]))
    client.force_login(clerk, backend="allauth.account.auth_backends.AuthenticationBackend")
    address = reverse("admin:llm_app_provider_delete", args=[provider.pk])
    assert "route" in client.get(address).content.decode()
    assert client.post(address, {"post": "yes"}).status_code == 403
    assert Provider.objects.exists()


def test_user_with_sessions_is_not_deleted_and_a_hint_is_shown(browser: Client) -> None:
    session = factories.SessionFactory()
    address = reverse("admin:accounts_user_delete", args=[session.owner_id])
    page = browser.get(address).content.decode()
    assert f"{session.owner} has sessions, or has written in those of others: instead, take away “active”" in page
    chosen = {"action": "delete_selected", "_selected_action": [session.owner_id], "post": "yes"}
    for refused, data in ((address, {"post": "yes"}), (reverse("admin:accounts_user_changelist"), chosen)):
        browser.post(refused, data)
        assert Session.objects.get().owner == session.owner


def test_user_without_messages_is_deleted(browser: Client) -> None:
    person = factories.UserFactory()
    browser.post(reverse("admin:accounts_user_delete", args=[person.pk]), {"post": "yes"})
    assert not User.objects.filter(pk=person.pk).exists()

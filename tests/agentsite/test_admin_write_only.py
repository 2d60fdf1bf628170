"""Write-only keys and secrets in the admin: no form, list, history or confirmation page shows them."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.test import Client

from agentsite.accounts.models import ApiToken
from llm_app.models import Provider, Secret
from tests import factories

STORED = "sk-stored-in-secret"
NEW = "sk-new-in-secret"


@pytest.fixture
def provider(db: None) -> Provider:
    return Provider.objects.create(name="main", protocol="openai_native", base_url="http://llm:8000/v1", api_key=STORED)


@pytest.fixture
def secret(root: Any) -> Secret:
    return Secret.objects.create(name="TOKEN", value=STORED, owner=root)


def form(provider: Provider, **fields: Any) -> dict[str, Any]:
    kept = {name: getattr(provider, name) for name in ("name", "protocol", "base_url", "timeout_s", "total_timeout_s")}
    inlines = ("breaker_changes", "learned_quirks")
    history = {f"{name}-{kind}_FORMS": 0 for name in inlines for kind in ("TOTAL", "INITIAL")}
    return {**kept, "enabled": "on", "breaker": "{}", **history, **fields}


def pages(row: Any) -> list[str]:
    base = f"/admin/llm_app/{row._meta.model_name}/"
    return [base, f"{base}{row.pk}/change/", f"{base}{row.pk}/delete/", f"{base}{row.pk}/history/"]


def test_no_page_shows_a_key(provider: Provider, browser: Client) -> None:
    for page in [*pages(provider), "/admin/llm_app/route/add/", "/admin/"]:
        assert STORED not in _shown(browser, page)


def test_no_page_shows_a_secret(secret: Secret, browser: Client) -> None:
    for page in pages(secret):
        assert STORED not in _shown(browser, page)


def _shown(browser: Client, page: str) -> str:
    answer = browser.get(page)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_empty_field_keeps_the_stored_value(provider: Provider, browser: Client) -> None:
    browser.post(f"/admin/llm_app/provider/{provider.pk}/change/", form(provider, timeout_s=5, api_key=""))
    provider.refresh_from_db()
    assert (provider.timeout_s, provider.api_key) == (5, STORED)
    assert "API key" not in LogEntry.objects.get().change_message


def test_filled_field_replaces_the_value_and_the_history_hides_it(provider: Provider, browser: Client) -> None:
    browser.post(f"/admin/llm_app/provider/{provider.pk}/change/", form(provider, api_key=NEW))
    provider.refresh_from_db()
    assert provider.api_key == NEW
    message = LogEntry.objects.get().change_message
    assert "API key" in message
    assert NEW not in message


def test_invalid_form_does_not_return_the_key(provider: Provider, browser: Client) -> None:
    answer = browser.post(f"/admin/llm_app/provider/{provider.pk}/change/", form(provider, name="", api_key=NEW))
    assert answer.status_code == 200
    assert NEW not in answer.content.decode()


def test_new_secret_needs_a_value(browser: Client, root: Any) -> None:
    assert browser.post("/admin/llm_app/secret/add/", {"name": "A", "owner": "", "value": ""}).status_code == 200
    assert not Secret.objects.exists()
    assert browser.post("/admin/llm_app/secret/add/", {"name": "A", "owner": root.pk, "value": NEW}).status_code == 302
    assert Secret.objects.get().value == NEW


def test_team_secret_lists_its_roles(browser: Client, root: Any) -> None:
    role = Group.objects.create(name="engineers")
    form = {"name": "A", "owner": "", "value": NEW, "roles": [role.pk]}
    assert browser.post("/admin/llm_app/secret/add/", form).status_code == 302
    assert list(Secret.objects.get().roles.all()) == [role]
    Secret.objects.create(name="B", value=STORED)
    shown = _shown(browser, "/admin/llm_app/secret/")
    assert "engineers" in shown
    assert "administrators" in shown
    refused = browser.post("/admin/llm_app/secret/add/", form | {"name": "C", "owner": root.pk})
    assert "Only a secret of the team can have roles" in refused.content.decode()
    assert not Secret.objects.filter(name="C").exists()


def test_view_permission_does_not_show_values(provider: Provider, secret: Secret) -> None:
    watcher = factories.UserFactory(is_staff=True)
    watcher.user_permissions.set(Permission.objects.filter(codename__in=["view_provider", "view_secret"]))
    browser = Client()
    browser.force_login(watcher, backend="allauth.account.auth_backends.AuthenticationBackend")
    for row in (provider, secret):
        answer = browser.get(f"/admin/llm_app/{row._meta.model_name}/{row.pk}/change/")
        assert answer.status_code == 200
        assert STORED not in answer.content.decode()


def test_password_autofill_is_disabled(provider: Provider, browser: Client) -> None:
    page = browser.get(f"/admin/llm_app/provider/{provider.pk}/change/").content.decode()
    assert 'autocomplete="new-password"' in page


def test_short_host_name_is_a_valid_address(provider: Provider, browser: Client) -> None:
    address = f"/admin/llm_app/provider/{provider.pk}/change/"
    assert browser.post(address, form(provider, base_url="http://ollama:11434/v1")).status_code == 302
    assert browser.post(address, form(provider, base_url="ollama:11434")).status_code == 200


def test_tokens_are_listed_and_revoked_but_never_shown(browser: Client, root: Any) -> None:
    token = ApiToken.objects.set_value(root, "short-token", "")
    for page in ("", f"{token.pk}/change/", f"{token.pk}/delete/"):
        answer = browser.get(f"/admin/accounts/apitoken/{page}")
        assert answer.status_code == 200
        assert "short-token" not in answer.content.decode()
    browser.post(f"/admin/accounts/apitoken/{token.pk}/delete/", {"post": "yes"})
    assert not ApiToken.objects.exists()

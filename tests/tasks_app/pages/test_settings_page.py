"""The settings page: preferences, tokens, secrets."""

import pytest
from rest_framework.test import APIClient

from agentsite.accounts.models import ApiToken
from llm_app.models import Secret
from tools_app.models import UserPolicy
from tools_app.policy import policy_for


def test_preferences_are_saved(alices, alice):
    response = alices.post("/settings/profile/", {"preferences": "Speak German."}, follow=True)
    assert "It applies from your next task on." in response.content.decode()
    alice.refresh_from_db()
    assert alice.preferences == "Speak German."


def test_secrets_in_preferences_are_redacted(alices, alice):
    Secret.objects.create(owner=alice, name="KEY", value="s3cr3t-value")
    alices.post("/settings/profile/", {"preferences": "My key is s3cr3t-value."})
    alice.refresh_from_db()
    assert alice.preferences == "My key is [secret:KEY]."


def test_token_and_new_mail_address_need_the_password(alices, alice, browser):
    asked = alices.post("/settings/tokens/", {"name": "my script"})
    assert asked["Location"] == "/accounts/reauthenticate/?next=%2Fsettings%2Ftokens%2F"
    wrong = alices.post("/accounts/reauthenticate/", {"password": "wrong", "next": "/settings/tokens/"})
    assert (wrong.status_code, ApiToken.objects.exists()) == (200, False)
    page = alices.confirm("/settings/tokens/").content.decode()
    assert ApiToken.objects.get().name == "my script"
    assert ApiToken.objects.get().token_key in page
    mails, other = {"email": "thief@example.org", "preferences": "x"}, browser(alice)
    assert (
        other.post("/settings/profile/", mails)["Location"] == "/accounts/reauthenticate/?next=%2Fsettings%2Fprofile%2F"
    )
    alice.refresh_from_db()
    assert (alice.email, alice.preferences) == ("", "")
    alices.post("/settings/profile/", mails)  # the password was entered a moment ago
    alice.refresh_from_db()
    assert alice.email == "thief@example.org"
    other.post("/settings/profile/", mails | {"preferences": "y"})  # the same address
    alice.refresh_from_db()
    assert alice.preferences == "y"


def test_token_is_shown_once_and_works(alices):
    alices.confirm()
    page = alices.post("/settings/tokens/", {"name": "my script"})
    value = page.context["new_token"]
    assert value in page.content.decode()
    program = APIClient()
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {value}")
    assert program.get("/api/v1/sessions/").status_code == 200
    again = alices.page("/settings/")
    assert "my script" in again
    assert value not in again


def test_deleted_token_is_invalid(alices, alice):
    token, value = ApiToken.objects.create(alice, name="old")
    program = APIClient()
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {value}")
    assert program.get("/api/v1/sessions/").status_code == 200
    alices.post("/settings/tokens/delete/", {"token": token.digest})
    assert program.get("/api/v1/sessions/").status_code == 401


def test_tokens_of_other_users_are_inaccessible(alices, bob):
    token, _ = ApiToken.objects.create(bob, name="bob's own")
    assert "bob" not in alices.page("/settings/")
    alices.post("/settings/tokens/delete/", {"token": token.digest})
    assert ApiToken.objects.filter(user=bob).exists()


def test_secret_is_stored_and_never_shown(alices, alice):
    response = alices.post("/settings/secrets/", {"name": "MAIL_KEY", "value": " s3cr3t-value "}, follow=True)
    assert Secret.objects.get(owner=alice).value == " s3cr3t-value "
    assert "MAIL_KEY" in response.content.decode()
    assert "s3cr3t" not in response.content.decode()


@pytest.mark.parametrize(
    ("form", "complaint"),
    [
        ({"name": "A B", "value": "long enough"}, "a letter first"),
        ({"name": "KEY", "value": "short"}, "under 8 characters"),
        ({"name": "", "value": ""}, "required"),
        ({"name": "TAKEN", "value": "long enough"}, "already"),
    ],
)
def test_invalid_secret_is_refused(form, complaint, alices, alice):
    Secret.objects.create(owner=alice, name="TAKEN", value="the first one")
    response = alices.post("/settings/secrets/", form)
    assert response.status_code == 422
    assert complaint in response.content.decode()
    assert "long enough" not in response.content.decode()
    assert Secret.objects.count() == 1


def test_secret_is_deleted_only_by_its_owner(alices, alice, bob):
    Secret.objects.create(owner=alice, name="KEY", value="the first one")
    Secret.objects.create(owner=bob, name="KEY", value="the other one")
    alices.post("/settings/secrets/delete/", {"name": "KEY"})
    assert Secret.objects.get().owner == bob


def test_switched_off_tool_is_off_for_that_user_only(alices, alice, bob):
    UserPolicy.objects.create(user=alice, deny=["generate"], switched_off=["gone__tool"])
    page = alices.page("/settings/")
    assert 'value="shell"' in page
    assert 'value="generate"' not in page, "an administrator has denied it"
    alices.post("/settings/tools/", {"off": ["shell", "generate", "message", "unknown"]})
    assert UserPolicy.objects.get(user=alice).switched_off == ["gone__tool", "shell"]
    assert 'value="shell" id="off-shell" checked' in alices.page("/settings/")
    assert not policy_for(alice.pk).allows("shell")
    assert policy_for(bob.pk).allows("shell")
    alices.post("/settings/tools/", {})
    assert policy_for(alice.pk).allows("shell")
    assert not policy_for(alice.pk).allows("generate")


def test_time_zone_applies_to_pages_and_the_agents_day(alices, alice):
    alices.confirm()
    alices.post("/settings/profile/", {"time_zone": "Asia/Tokyo", "email": "alice@example.org"})
    alice.refresh_from_db()
    assert str(alice.now().tzinfo) == alices.cookies["timezone"].value == "Asia/Tokyo"
    assert 'data-zone="Asia/Tokyo"' in alices.page("/settings/")
    wrong = {"time_zone": "Mars/Base", "email": "alice@example.org"}
    assert alices.post("/settings/profile/", wrong).status_code == 422


def test_other_browsers_are_listed_and_can_be_signed_out(alice, browser):
    here, there = browser(), browser()
    for one, agent in ((here, "Mozilla/5.0 (X11; Linux x86_64) Firefox/140"), (there, "Mozilla/5.0 (iPhone) Safari")):
        one.post("/accounts/login/", {"login": "alice", "password": "a password"}, headers={"User-Agent": agent})
    page = here.page("/settings/")
    assert "Firefox on Linux" in page
    assert "Safari on iOS" in page
    here.post("/settings/sign-ins/end/")
    assert there.get("/settings/").status_code == 302
    assert "Safari on iOS" not in here.page("/settings/")


def test_mails_are_offered_with_a_mail_server(alices, alice, settings):
    assert "named a mail server" in alices.page("/settings/")
    settings.EMAIL_HOST = "mail.example"
    assert "A task is done" in alices.page("/settings/")
    alices.post("/settings/mails/", {"mails": ["waiting", "failed"]})
    alice.refresh_from_db()
    assert alice.mails == ["waiting", "failed"]

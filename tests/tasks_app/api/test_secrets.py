"""Secrets over REST, whose values are write-only."""

import pytest

from llm_app.models import Secret

VALUE = "a-secret-value-nobody-sees"


def test_secret_is_stored_and_only_its_name_returned(alices, alice):
    answer = alices.call("POST", "secrets/", {"name": "GITHUB_TOKEN", "value": VALUE})
    assert (answer.status_code, set(answer.json())) == (201, {"name", "created_at", "found", "found_in"})
    assert Secret.objects.get(owner=alice).value == VALUE
    listed = alices.call("GET", "secrets/")
    assert [secret["name"] for secret in listed.json()["results"]] == ["GITHUB_TOKEN"]
    assert VALUE not in answer.content.decode() + listed.content.decode()


def test_value_is_stored_unchanged(alices):
    alices.call("POST", "secrets/", {"name": "KEY", "value": "  with spaces \n"})
    assert Secret.objects.get().value == "  with spaces \n"


def test_name_can_be_used_once(alices):
    alices.call("POST", "secrets/", {"name": "KEY", "value": VALUE})
    assert alices.call("POST", "secrets/", {"name": "KEY", "value": "another value 1"}).status_code == 409
    assert Secret.objects.get().value == VALUE


def test_only_the_owner_can_delete_a_secret(alices, program, charlie, alice):
    charlies = program(charlie)
    for owner in (alices, charlies):
        assert owner.call("POST", "secrets/", {"name": "KEY", "value": VALUE}).status_code == 201
    assert charlies.call("DELETE", "secrets/KEY/").status_code == 204
    assert charlies.call("DELETE", "secrets/KEY/").status_code == 404
    assert Secret.objects.get().owner == alice


def test_team_secrets_are_not_listed(alices):
    Secret.objects.create(name="TEAM", value=VALUE)
    assert alices.call("GET", "secrets/").json()["results"] == []
    assert alices.call("DELETE", "secrets/TEAM/").status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "KEY", "value": "short"}, "value"),
        ({"name": "KEY", "value": "password"}, "value"),
        ({"name": "KEY", "value": "20261122"}, "value"),
        ({"name": "KEY", "value": "aaaaaaaaaaaa"}, "value"),
        ({"name": "KEY", "value": "Write the placeholder where a tool"}, "value"),
        ({"name": "GITHUB_TOKEN", "value": "GITHUB_TOKEN"}, "value"),
        ({"name": "KEY", "value": "x y" * 6000}, "value"),
        ({"name": "KEY"}, "value"),
        ({"name": "KEY", "value": 12345678}, "value"),
        ({"value": VALUE}, "name"),
        ({"name": "", "value": VALUE}, "name"),
        ({"name": "a b", "value": VALUE}, "name"),
        ({"name": "a/b", "value": VALUE}, "name"),
        ({"name": "../x", "value": VALUE}, "name"),
        ({"name": "x" * 65, "value": VALUE}, "name"),
    ],
)
def test_unusable_secrets_are_refused_with_a_reason(body, field, alices):
    answer = alices.call("POST", "secrets/", body)
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [field])
    assert VALUE not in answer.content.decode()
    assert not Secret.objects.exists()


def test_short_value_is_refused_because_it_would_redact_words(alices):
    (reason,) = alices.call("POST", "secrets/", {"name": "KEY", "value": "short"}).json()["errors"]["value"]
    assert "8 characters" in reason

"""Passwords and tokens in the configuration file: new values are set, and none is ever shown."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from agentsite.accounts.models import ApiToken
from agentsite.models import AppliedValue

pytestmark = pytest.mark.django_db
ADA = 'users: [{username: ada, password: "${PASSWORD}", api_token: "${TOKEN}"}]\n'
FIRST = {"PASSWORD": "first password", "TOKEN": "first-token-0123456789"}


def ada() -> Any:
    return get_user_model().objects.get(username="ada")


def answers(token: str) -> bool:
    return Client().get("/api/v1/models/", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_password_changed_by_the_user_survives_an_unchanged_file(configure: Any) -> None:
    configure(ADA, FIRST)
    user = ada()
    user.set_password("her own")
    user.save()
    assert configure(ADA, FIRST) == []
    assert ada().check_password("her own")


def test_new_password_in_the_file_is_set(configure: Any) -> None:
    configure(ADA, FIRST)
    assert configure(ADA, FIRST | {"PASSWORD": "second password"}) == ["user ada: password set"]
    assert ada().check_password("second password")


def test_new_token_in_the_file_replaces_the_old_one(configure: Any) -> None:
    configure(ADA, FIRST)
    _, own = ApiToken.objects.create(user=ada(), name="made by hand")
    assert answers(FIRST["TOKEN"])
    configure(ADA, FIRST | {"TOKEN": "second-token-0123456789"})
    assert answers("second-token-0123456789")
    assert not answers(FIRST["TOKEN"])
    assert answers(own)


def test_revoked_token_is_not_restored_by_an_unchanged_file(configure: Any) -> None:
    configure(ADA, FIRST)
    ApiToken.objects.all().delete()
    assert configure(ADA, FIRST) == []
    assert not answers(FIRST["TOKEN"])


def test_existing_user_gets_the_files_password_once(configure: Any) -> None:
    get_user_model().objects.create_user("ada", password="before")
    assert configure("users: [{username: ada, password: after}]\n") == ["user ada: password set"]
    assert ada().check_password("after")


def test_user_without_a_password_cannot_sign_in(configure: Any) -> None:
    configure("users: [{username: ada}]\n")
    assert not ada().has_usable_password()


def test_changes_do_not_show_values_of_texts(configure: Any) -> None:
    text = """\
        providers: [{name: p, protocol: openai_native, base_url: "https://user:${KEY}@host/v1", api_key: "${KEY}"}]
        models:
          - name: m
            providers: [{provider: p, model: x, extra_headers: {Authorization: "${KEY}"}, extra_body: {key: "${KEY}"}}]
        users: [{username: ada, password: "${KEY}", api_token: "${KEY}"}]
        """
    said = configure(text, {"KEY": "sk-first-secret"}) + configure(text, {"KEY": "sk-second-secret"})
    assert "provider p: api_key changed, base_url changed" in [_sorted(change) for change in said]
    assert "secret" not in "\n".join(said)


def test_applied_values_are_stored_as_digests(configure: Any) -> None:
    configure(ADA, FIRST)
    remembered = " ".join(f"{row.name} {row.digest}" for row in AppliedValue.objects.all())
    assert FIRST["PASSWORD"] not in remembered
    assert FIRST["TOKEN"] not in remembered


def test_new_encryption_key_does_not_reset_passwords(configure: Any, settings: Any) -> None:
    configure(ADA, FIRST)
    new = "bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmU="
    settings.FIELD_ENCRYPTION_KEY = f"{new},{settings.FIELD_ENCRYPTION_KEY}"
    assert configure(ADA, FIRST) == []


def _sorted(change: str) -> str:
    what, _, words = change.partition(": ")
    return f"{what}: {', '.join(sorted(words.split(', ')))}"

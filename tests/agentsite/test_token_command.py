"""The command `manage.py token`, which prints a valid token."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from agentsite.accounts.models import ApiToken
from agentsite.serving import first_start


def test_printed_token_authenticates_its_user(alice: Any) -> None:
    out = StringIO()
    call_command("token", "alice", "--name", "my script", stdout=out)
    token = out.getvalue().strip()
    assert Client().get("/api/v1/models/", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert ApiToken.objects.get(user=alice).name == "my script"


def test_unknown_user_gets_no_token(db: None) -> None:
    with pytest.raises(CommandError, match="no user called 'nobody'"):
        call_command("token", "nobody")


def test_disabled_user_gets_no_token(alice: Any) -> None:
    alice.is_active = False
    alice.save()
    with pytest.raises(CommandError, match="disabled"):
        call_command("token", "alice")


def test_token_for_an_agent_cannot_approve(alice, capsys):
    call_command("token", "alice", "--no-approvals")
    assert not ApiToken.objects.get().may_approve


def test_new_admin_token_in_the_environment_replaces_the_old_one(db: None, monkeypatch: Any) -> None:
    first, second = "first-token-of-the-environment", "second-token-of-the-environment"
    for value in (first, second, second):
        monkeypatch.setenv("AGENTSITE_ADMIN_TOKEN", value)
        first_start.ensure_admin()
    answers = [
        Client().get("/api/v1/models/", headers={"Authorization": f"Bearer {token}"}) for token in (first, second)
    ]
    assert [answer.status_code for answer in answers] == [401, 200]

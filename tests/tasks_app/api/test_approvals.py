"""Approvals over REST: visibility, the right to decide, and tokens without it."""

import pytest
from django.contrib.auth.models import Group

from agentsite.accounts.models import ApiToken
from llm_app.models import Secret
from tasks_app.models import Approval
from tests.tasks_app.api.conftest import Program
from tools_app.models import ToolSetting

YES = {"decision": "approve"}


@pytest.fixture
def reviewers(charlie):
    """Give charlie the role that approves, without access to the session."""
    role = Group.objects.create(name="reviewers")
    charlie.groups.add(role)
    return role


def with_token(user, **fields):
    token, value = ApiToken.objects.create(user, **fields)
    program = Program()
    program.credentials(HTTP_AUTHORIZATION=f"Bearer {value}")
    return program, token, value


def listed(program):
    return program.call("GET", "approvals/").json()["results"]


def test_only_approvers_find_an_approval(program, alices, alice, bob, carol, charlie, approving):
    (found,) = listed(alices)
    approval = Approval.objects.get()
    assert (found["id"], found["task"], found["tool"]) == (approval.pk, str(approving.pk), "shell")
    assert found["arguments"] == {"command": "rm -rf build"}
    assert (found["reason"], found["danger"], found["started_by"]) == ("deletes a folder", "dangerous", "alice")
    assert len(listed(program(carol))) == 1
    for somebody in (bob, charlie):
        assert listed(program(somebody)) == []
        assert program(somebody).call("POST", f"approvals/{approval.pk}/", YES).status_code == 404
    assert approval.decision == "pending"


def test_approver_by_role_sees_only_the_call(program, alices, charlie, approving, reviewers):
    ToolSetting.objects.create(name="shell", approvers=reviewers)
    approval = Approval.objects.get()
    charlies = program(charlie)
    assert [found["id"] for found in listed(charlies)] == [approval.pk]
    assert listed(alices) == []
    for path in (
        f"tasks/{approving.pk}/",
        f"sessions/{approving.session_id}/",
        f"sessions/{approving.session_id}/entries/",
    ):
        assert charlies.call("GET", path).status_code == 404
    refused = alices.call("POST", f"tasks/{approving.pk}/approval/", YES)
    assert (refused.status_code, refused.json()["detail"]) == (
        403,
        "It is waiting for someone with the role reviewers.",
    )
    answer = charlies.call("POST", f"approvals/{approval.pk}/", YES)
    assert (answer.status_code, answer.json()["decision"]) == (200, "approved")
    assert "session" not in answer.json()
    assert charlies.call("POST", f"approvals/{approval.pk}/", YES).status_code == 404
    approval.refresh_from_db()
    assert approval.decided_by == charlie


def test_reader_with_the_role_can_decide(program, bob, approving):
    role = Group.objects.create(name="readers")
    bob.groups.add(role)
    ToolSetting.objects.create(name="shell", approvers=role)
    assert program(bob).call("POST", f"approvals/{Approval.objects.get().pk}/", YES).status_code == 200


def test_four_eyes_over_rest(program, alices, carol, approving):
    ToolSetting.objects.create(name="shell", four_eyes=True)
    assert alices.call("POST", f"tasks/{approving.pk}/approval/", YES).status_code == 403
    wide = program(carol).call("POST", f"tasks/{approving.pk}/approval/", YES | {"scope": "task"})
    assert (wide.status_code, set(wide.json()["errors"])) == (422, {"scope"})
    assert program(carol).call("POST", f"tasks/{approving.pk}/approval/", YES).status_code == 200


@pytest.mark.parametrize("decision", ["approve", "reject"])
@pytest.mark.parametrize("path", ["tasks/{task}/approval/", "approvals/{approval}/"])
def test_token_without_approval_right_cannot_decide(path, decision, alice, approving):
    approval = Approval.objects.get()
    address = path.format(task=approving.pk, approval=approval.pk)
    agents, _, _ = with_token(alice, may_approve=False)
    refused = agents.call("POST", address, {"decision": decision})
    assert (refused.status_code, "may not approve" in refused.json()["detail"]) == (403, True)
    approval.refresh_from_db()
    assert approval.decision == "pending"
    assert agents.call("GET", f"tasks/{approving.pk}/").status_code == 200


def test_token_stored_as_a_secret_cannot_decide(alice, bob, approving):
    program, _, value = with_token(alice)
    secret = Secret.objects.create(owner=bob, name="AGENTSITE", value=value)
    assert program.call("POST", f"tasks/{approving.pk}/approval/", YES).status_code == 403
    secret.delete()
    assert program.call("POST", f"tasks/{approving.pk}/approval/", YES).status_code == 200

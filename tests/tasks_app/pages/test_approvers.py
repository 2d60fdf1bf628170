"""The inbox of approvers by role: they can decide on the call and see nothing else of the session."""

import pytest
from django.contrib.auth.models import Group

from agentsite.accounts.models import ApiToken
from tasks_app.models import Approval
from tools_app.models import ToolSetting


@pytest.fixture
def charlies(browser, charlie):
    """Return the client of charlie, who has the role but no access to alice's session."""
    role = Group.objects.create(name="reviewers")
    charlie.groups.add(role)
    ToolSetting.objects.create(name="shell", approvers=role)
    return browser(charlie)


def address():
    return f"/inbox/approvals/{Approval.objects.get().pk}/"


def test_inbox_shows_only_the_call(charlies, session, approving):
    session.title = "A private matter"
    session.save()
    page = charlies.page("/inbox/")
    assert "rm -rf build" in page
    assert "Deletes a folder" in page
    assert "alice started the task" in page
    assert "waiting for you" in page
    assert "A private matter" not in page
    assert "Please." not in page
    assert session.get_absolute_url() not in page
    assert charlies.get(session.get_absolute_url()).status_code == 404


@pytest.mark.parametrize("way", ["htmx", "post"])
def test_approver_decides_once(way, charlies, charlie, approving):
    answer = getattr(charlies, way)(address(), {"decision": "approved"})
    assert answer.status_code == (200 if way == "htmx" else 302)
    approval = Approval.objects.get()
    assert (approval.decision, approval.decided_by) == ("approved", charlie)
    assert getattr(charlies, way)(address(), {"decision": "rejected"}).status_code == 404
    assert "Nothing is waiting for you." in charlies.page("/inbox/")


def test_owner_sees_the_role_and_can_only_reject(charlies, alices, approving):
    page = alices.page(approving.session.get_absolute_url())
    assert "It is waiting for someone with the role reviewers." in page
    assert 'value="approved"' not in page
    assert 'value="rejected"' in page
    assert "Nothing is waiting for you." in alices.page("/inbox/")
    refused = alices.htmx(
        f"{approving.session.get_absolute_url()}approval/", {"decision": "approved", "call": "call_1"}
    )
    assert refused.status_code == 403
    assert Approval.objects.get().decision == "pending"


@pytest.mark.parametrize("name", ["bob", "carol"])
def test_users_without_the_role_get_404(name, charlies, browser, request, approving):
    somebody = browser(request.getfixturevalue(name))
    assert "Nothing is waiting for you." in somebody.page("/inbox/")
    assert somebody.post(address(), {"decision": "approved"}).status_code == 404


def test_reader_with_the_role_decides_on_the_page(charlies, browser, bob, approving):
    bob.groups.add(Group.objects.get())
    bobs = browser(bob)
    page = bobs.page(approving.session.get_absolute_url())
    assert 'value="approved"' in page
    card = bobs.htmx(f"{approving.session.get_absolute_url()}approval/", {"decision": "approved", "call": "call_1"})
    assert "Approved by bob" in card.content.decode()
    after = bobs.htmx(f"{approving.session.get_absolute_url()}approval/", {"decision": "approved", "call": "call_1"})
    assert after.status_code == 403  # he has only read access again


def test_four_eyes_approval_has_no_scope(alices, browser, carol, approving):
    ToolSetting.objects.create(name="shell", four_eyes=True)
    assert "this tool needs a second person" in alices.page(approving.session.get_absolute_url())
    page = browser(carol).page("/inbox/")
    assert 'value="approved"' in page
    assert "Similar calls in this task" not in page


def test_forged_form_is_refused(charlies, approving):
    assert charlies.post(address(), {"decision": "pending"}).status_code == 404
    assert charlies.get(address()).status_code == 405


@pytest.mark.parametrize("may_approve", [True, False])
def test_token_is_created_with_or_without_the_right_to_approve(may_approve, alices):
    alices.confirm()
    alices.post("/settings/tokens/", {"name": "script"} | ({"may_approve": "on"} if may_approve else {}))
    assert ApiToken.objects.get().may_approve == may_approve
    assert ("cannot approve calls" in alices.page("/settings/")) == (not may_approve)

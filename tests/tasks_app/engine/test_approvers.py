"""Approvers: people who can write, or members of a configured role; with four eyes, a second person."""

import threading

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.db.models import ProtectedError

from tasks_app import services
from tasks_app.models import Approval, SessionMember
from tasks_app.models.errors import MayNotDecide, NothingToAnswer, OnlyThisCall
from tasks_app.run import decisions
from tests import factories
from tests.tasks_app.engine.conftest import call, result, script
from tools_app.models import RolePolicy, ToolSetting

WRITE = call("file", action="write", path="a.txt", content="x")
AGAIN = call("file", action="write", path="b.txt", content="y")


@pytest.fixture
def reviewers(transactional_db):
    return Group.objects.create(name="reviewers")


@pytest.fixture
def rita(reviewers):
    """A member of the role, without access to the session."""
    user = factories.UserFactory(username="rita")
    user.groups.add(reviewers)
    return user


@pytest.fixture
def set_up(transactional_db):
    return lambda **fields: ToolSetting.objects.create(name="file", approval="always", **fields)


def test_strangers_cannot_decide(play, set_up):
    set_up()
    stranger = factories.UserFactory()
    task = play(WRITE, result()).advance()
    for decision in ("approved", "rejected"):
        with pytest.raises(MayNotDecide, match="someone who may write in this session"):
            services.decide(task, stranger, decision)
    assert Approval.objects.get().decision == "pending"


def test_only_the_named_role_can_approve(play, set_up, owner, reviewers, rita):
    set_up(approvers=reviewers)
    run = play(WRITE, result())
    task = run.advance()
    with pytest.raises(MayNotDecide, match="role reviewers"):
        services.decide(task, owner, "approved")
    services.decide(task, rita, "approved", note="checked")
    assert run.advance().state == "done"
    assert "[Approved by rita. They say: checked]" in run.results()[0][1]


def test_writers_can_always_reject(play, set_up, owner, reviewers):
    set_up(approvers=reviewers, four_eyes=True)
    run = play(WRITE, result())
    services.decide(run.advance(), owner, "rejected")
    assert run.advance().state == "done"
    assert run.results()[0][0] == "rejected"


def test_with_four_eyes_the_starter_cannot_approve(play, set_up, owner):
    set_up(four_eyes=True)
    run = play(WRITE, AGAIN, result())
    task = run.advance()
    carol = SessionMember.objects.create(session=task.session, user=factories.UserFactory(), may_write=True).user
    with pytest.raises(MayNotDecide, match="a second person"):
        services.decide(task, owner, "approved")
    with pytest.raises(OnlyThisCall):
        services.decide(task, carol, "approved", scope="task")
    services.decide(task, carol, "approved")
    assert run.advance().waiting_for == "approval"


def test_with_four_eyes_authors_of_messages_cannot_approve(play, set_up, owner):
    set_up(four_eyes=True)
    run = play(call("message", type="ask", text="Which file?"), call("message", type="ask", text="Sure?"), result())
    task = run.advance()
    members = [SessionMember(session=task.session, user=factories.UserFactory(), may_write=True) for _ in range(3)]
    told, answered, other = (member.user for member in SessionMember.objects.bulk_create(members))
    services.reply(task, answered, "a.txt")
    services.reply(run.advance(), owner, "Yes.")
    services.post_message(task.session, told, script(WRITE, AGAIN, result()))
    for _ in ("a.txt", "b.txt"):
        task = run.advance()
        for instigator in (owner, told, answered):
            with pytest.raises(MayNotDecide, match="a second person"):
                services.decide(task, instigator, "approved")
        services.decide(task, other, "approved", note="checked")
    assert run.advance().state == "done"


def test_with_four_eyes_a_rejecter_can_approve_a_later_call(play, set_up):
    set_up(four_eyes=True)
    run = play(WRITE, AGAIN, result())
    task = run.advance()
    member = SessionMember.objects.create(session=task.session, user=factories.UserFactory(), may_write=True)
    services.decide(task, member.user, "rejected", note="Into b.txt.")
    services.decide(run.advance(), member.user, "approved")
    assert run.advance().state == "done"


def test_an_approver_cannot_approve_their_own_task(play, set_up, owner, reviewers, rita):
    set_up(approvers=reviewers, four_eyes=True)
    owner.groups.add(reviewers)
    task = play(WRITE, result()).advance()
    with pytest.raises(MayNotDecide):
        services.decide(task, owner, "approved")
    services.decide(task, rita, "approved")


def test_changed_approvers_apply_to_waiting_approvals(play, set_up, owner, reviewers):
    setting = set_up()
    task = play(WRITE, result()).advance()
    approval = Approval.objects.get()
    assert decisions.refusal_reason(approval, owner) == ""
    setting.approvers = reviewers
    setting.save()
    with pytest.raises(MayNotDecide):
        services.decide(task, owner, "approved")


def test_an_approval_for_the_task_ends_when_the_tool_gets_four_eyes(play, set_up, owner):
    set_up()
    run = play(WRITE, AGAIN, result())
    services.decide(run.advance(), owner, "approved", scope="task")
    ToolSetting.objects.update(four_eyes=True)
    assert run.advance().waiting_for == "approval"


def test_an_approval_for_the_task_covers_no_higher_level_and_no_other_rule(play, owner):
    ToolSetting.objects.create(name="shell", approval="always")
    run = play(
        call("shell", command="echo 1"),
        call("shell", command="echo 2"),
        call("shell", command="git push --force"),
        result(),
    )
    services.decide(run.advance(), owner, "approved", scope="task")
    task = run.advance()
    assert [status for status, _ in run.results()] == ["succeeded", "succeeded"]
    assert task.waiting_for == "approval"
    assert "delete" in Approval.objects.get(decision="pending").reason


@pytest.mark.parametrize(
    ("roles", "waits"),
    [
        ([{}], False),
        ([{"file": "always"}], True),
        ([{"file": "never"}, {"file": "always"}], True),
        ([{"shell": "always"}], False),
    ],
)
def test_a_role_may_be_asked_more_often(roles, waits, play, owner):
    for number, approvals in enumerate(roles):
        role = Group.objects.create(name=f"role {number}")
        RolePolicy.objects.create(role=role, approvals=approvals)
        owner.groups.add(role)
    assert (play(WRITE, result()).advance().waiting_for == "approval") == waits


def test_a_roles_policy_overrides_that_of_the_tool(play, set_up, owner):
    set_up()
    role = Group.objects.create(name="trusted")
    RolePolicy.objects.create(role=role, approvals={"file": "never"})
    owner.groups.add(role)
    assert play(WRITE, result()).advance().state == "done"


def test_concurrent_decisions_have_one_winner(play, set_up, owner):
    set_up()
    run = play(WRITE, result())
    task = run.advance()
    carol = SessionMember.objects.create(session=task.session, user=factories.UserFactory(), may_write=True).user
    outcomes, together = [], threading.Barrier(8)

    def decide(user, decision):
        together.wait()
        try:
            services.decide(type(task).objects.select_related("session").get(pk=task.pk), user, decision)
            outcomes.append(decision)
        except NothingToAnswer:
            outcomes.append(None)
        finally:
            connection.close()

    people = [(owner, "approved"), (carol, "rejected")] * 4
    threads = [threading.Thread(target=decide, args=person) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    (won,) = [outcome for outcome in outcomes if outcome]
    assert len(outcomes) == 8
    assert run.advance().state == "done"
    assert run.results()[0][0] == ("succeeded" if won == "approved" else "rejected")
    assert Approval.objects.get().decision == won


def test_a_role_that_approves_cannot_be_deleted(set_up, reviewers):
    set_up(approvers=reviewers)
    with pytest.raises(ProtectedError):
        reviewers.delete()

"""Denied tools: by user, role, agent and session, from the next step of every task."""

import threading
from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group

from llm_app.models import Budget, LogicalModel, Secret
from tasks_app import services
from tasks_app.models import Agent, ContextEntry, Session
from tests import factories
from tests.tasks_app.engine.conftest import Run, call, result, script
from tests.waiting import until
from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, registry
from tools_app.models import RolePolicy, Skill, ToolSetting, UserPolicy
from tools_app.policy import policy_for

LIST = call("file", action="list", path=".")


def by_user(user):
    UserPolicy.objects.create(user=user, deny=["file"])


def by_role(user):
    role = Group.objects.create(name="interns")
    RolePolicy.objects.create(role=role, deny=["file"])
    user.groups.add(role)


def by_another_roles_list(user):
    role = Group.objects.create(name="readers")
    RolePolicy.objects.create(role=role, allow=["match"])
    user.groups.add(role)


def by_agent(user):
    Session.objects.update(agent=Agent.objects.create(name="a", denied_tools=["file"]))


def by_session(user):
    Session.objects.update(denied_tools=["file"])


def by_choice(user):
    UserPolicy.objects.create(user=user, switched_off=["file"])


def by_roles_of_the_tool(user):
    setting, _ = ToolSetting.objects.get_or_create(name="file")
    setting.roles.add(Group.objects.create(name="engineers"))


def by_the_default_role(user):
    RolePolicy.objects.create(role=Group.objects.create(name="guests"), deny=["file"], is_default=True)


def by_switch(user):
    ToolSetting.objects.create(name="file", enabled=False)


EVERY_WAY = pytest.mark.parametrize(
    "deny",
    [
        by_user,
        by_role,
        by_another_roles_list,
        by_agent,
        by_session,
        by_choice,
        by_roles_of_the_tool,
        by_the_default_role,
        by_switch,
    ],
    ids=lambda way: way.__name__,
)


@EVERY_WAY
def test_a_tool_that_is_denied_is_refused_when_called_by_name(deny: Callable, play, owner):
    run = play(LIST, result())
    deny(owner)
    assert run.advance().state == "done"
    assert run.results()[0] == ("blocked", "The tool file is not available here.")


@EVERY_WAY
def test_a_tool_denied_during_its_approval_does_not_run(deny: Callable, play, owner):
    setting = ToolSetting.objects.create(name="file", approval="always")
    run = play(LIST, result())
    task = run.advance()
    if deny is by_switch:
        setting.delete()
    deny(owner)
    services.decide(task, owner, "approved")
    assert run.advance().state == "done"
    assert run.results()[0][0] == "blocked"


def test_a_tool_for_a_role_is_visible_only_to_its_members(owner):
    engineers = Group.objects.create(name="engineers")
    ToolSetting.objects.create(name="shell").roles.add(engineers)
    assert not policy_for(owner.pk).allows("shell")
    owner.groups.add(engineers)
    assert policy_for(owner.pk).allows("shell")


def test_the_default_role_applies_to_people_without_a_role(owner):
    guests, staff = Group.objects.create(name="guests"), Group.objects.create(name="staff")
    RolePolicy.objects.create(role=guests, deny=["file"], is_default=True)
    ToolSetting.objects.create(name="shell").roles.add(guests)
    model, skill, budget = (
        factories.LogicalModelFactory(),
        Skill.objects.create(name="x", description="X.", body="X."),
        Budget.objects.create(role=guests),
    )
    secret = Secret.objects.create(name="TEAM", value="correct-horse-battery")
    for row in (model, skill, secret):
        row.roles.add(guests)

    def granted():
        return [
            not policy_for(owner.pk).allows("file"),
            policy_for(owner.pk).allows("shell"),
            model in LogicalModel.objects.visible_to(owner.pk),
            skill in Skill.objects.usable_by(owner.pk),
            secret in Secret.objects.usable_by_all([owner.pk]),
            budget in Budget.objects.binding(owner.pk),
            owner in type(owner).members_of(guests.pk),
        ]

    assert granted() == [True] * 7
    owner.groups.add(staff)
    assert granted() == [False] * 7
    assert not LogicalModel.objects.visible_to(None).exists()


def test_message_cannot_be_taken_away(play, owner):
    UserPolicy.objects.create(user=owner, deny=["message"])
    assert play(result()).advance().state == "done"


class PauseArguments(Arguments):
    pass


@pytest.fixture
def gate():
    """A tool that waits until the test opens the gate."""
    arrived, opened = threading.Semaphore(0), threading.Event()

    async def pause(arguments: PauseArguments, context: ToolContext) -> ToolResult:
        import asyncio

        arrived.release()
        while not opened.is_set():  # noqa: ASYNC110  the gate is opened by another thread
            await asyncio.sleep(0.02)
        return ToolResult(content="Go on.")

    registry.all_tools()
    registry.tool(
        name="pause", description="Waits.", arguments=PauseArguments, danger=Danger.SAFE, target=Target.ENGINE
    )(pause)
    yield arrived, opened
    opened.set()
    del registry._tools["pause"]


def test_twenty_running_tasks_obey_at_their_next_step(gate, owner):
    arrived, opened = gate
    model = factories.scripted_model("script")
    runs = []
    for _ in range(20):
        session = factories.SessionFactory(owner=owner, model=model)
        delivered = services.post_message(session, owner, script(call("pause"), LIST, result()))
        runs.append(Run(delivered.task))
    threads = [run.in_thread() for run in runs]
    for _ in runs:
        assert arrived.acquire(timeout=60)
    RolePolicy.objects.create(role=Group.objects.create(name="interns"), deny=["file"])
    owner.groups.add(Group.objects.get())
    opened.set()
    for thread in threads:
        thread.join(60)
    for run in runs:
        run.task.refresh_from_db()
        assert run.task.state == "done"
        assert [status for status, _ in run.results()] == ["succeeded", "blocked", "succeeded"]
    told = ContextEntry.objects.filter(context_type="system_reminder", metadata__kind="tool_list")
    until(lambda: told.count() == 20)
    assert all("`file`" in entry.content for entry in told)


def test_restricted_files_are_refused_by_each_of_the_paths(play):
    run = play(
        call("file", action="read", paths=["a.txt", ".env"]),
        call("file", action="read", paths=[".e*"]),
        call("file", action="read", paths=["{.env,a.txt}"]),
        result(),
    )
    Session.objects.update(agent=Agent.objects.create(name="Ada", restricted_paths=[".env"]))
    run.task.session.workspace_path.mkdir(parents=True, exist_ok=True)
    for name in ("a.txt", ".env"):
        (run.task.session.workspace_path / name).write_text("KEY=1\n")
    run.advance()
    first, second, third, *_ = run.results()
    assert first == (
        "blocked",
        "Refused: .env is restricted here by an administrator. Do not try to do this by other means.",
    )
    assert second[0] == "blocked"
    assert ".env <==" not in third[1]

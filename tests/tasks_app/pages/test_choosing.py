"""Choices of agent and workflow, and the question about a blocked workflow step."""

import re

import pytest
from django.contrib.auth.models import Group

from tasks_app.models import Agent, Project, Session, Task, Workflow


@pytest.fixture
def release(db):
    workflow = Workflow.objects.create(name="Release")
    workflow.steps.create(position=0, title="Look", instructions="Look.")
    return workflow


@pytest.mark.parametrize("address", ["/", "{session}"])
def test_forms_offer_nothing_without_alternatives(alices, session, address):
    page = alices.page(address.format(session=session.get_absolute_url()))
    assert 'name="agent"' not in page
    assert 'name="workflow"' not in page


def test_first_message_uses_chosen_agent_and_workflow(alices, session, release):
    clerk = Agent.objects.create(name="Clerk", is_default=True)
    assert '<option value="Clerk" selected>' in alices.page("/")
    alices.post("/", {"content": "Release it.", "agent": "Clerk", "workflow": "Release"})
    task = Task.objects.get()
    assert (task.session.agent, task.workflow["name"]) == (clerk, "Release")
    assert "Workflow: Release" in alices.page(task.session.get_absolute_url())
    alices.post("/", {"content": "Go.", "agent": "", "workflow": "No such thing"})
    plain = Session.objects.exclude(pk__in=[session.pk, task.session.pk]).get()
    assert (plain.agent, plain.tasks.get().workflow) == (None, {})


def test_agent_of_a_session_can_be_changed(alices, session):
    clerk = Agent.objects.create(name="Clerk")
    address = f"{session.get_absolute_url()}change/"
    alices.htmx(address, {"agent": "Clerk"})
    session.refresh_from_db()
    assert session.agent == clerk
    alices.htmx(address, {"title": "Another"})
    session.refresh_from_db()
    assert session.agent == clerk
    alices.htmx(address, {"agent": ""})
    session.refresh_from_db()
    assert session.agent is None


def test_choosing_the_active_agent_after_a_handoff_changes_nothing(alices, session):
    clerk, writer = (Agent.objects.create(name=name) for name in ("Clerk", "Writer"))
    Session.objects.filter(pk=session.pk).update(agent=clerk, active_agent=writer)
    assert '<option value="Writer" selected>' in alices.page(session.get_absolute_url())
    address = f"{session.get_absolute_url()}change/"
    alices.htmx(address, {"title": "Another", "agent": "Writer"})
    session.refresh_from_db()
    assert (session.agent, session.active_agent) == (clerk, writer)
    alices.htmx(address, {"agent": "Clerk"})
    session.refresh_from_db()
    assert (session.agent, session.active_agent) == (clerk, None)


@pytest.fixture
def auditor(alice):
    """Return an agent for alice's role only."""
    agent = Agent.objects.create(name="Auditor")
    agent.roles.add(Group.objects.create(name="finance"))
    alice.groups.set(agent.roles.all())
    return agent


def test_writer_without_access_to_a_projects_agent_keeps_it(auditor, alice, bob, browser):
    project, bobs = Project.objects.create(owner=alice, name="Apollo", agent=auditor), browser(bob)
    project.memberships.create(user=bob, may_write=True)
    page = bobs.page(project.get_absolute_url())
    assert re.findall(r"<option selected>(\w+)<", page) == ["Auditor"]
    assert 'value="Auditor"' not in page  # he cannot start a session with it
    for given, agent in [({"agent": "Auditor"}, auditor), ({}, auditor), ({"agent": ""}, None)]:
        bobs.post(f"{project.get_absolute_url()}change/", {"name": f"To {agent}", **given})
        project.refresh_from_db()
        assert (project.name, project.agent) == (f"To {agent}", agent)
    bobs.post(f"{project.get_absolute_url()}change/", {"name": "Apollo", "agent": "Auditor"})
    project.refresh_from_db()
    assert project.agent is None


def test_writer_without_access_to_a_sessions_agent_keeps_it(auditor, session, carol, browser):
    Session.objects.filter(pk=session.pk).update(agent=auditor)
    carols = browser(carol)
    assert '<option value="Auditor" selected>' in carols.page(session.get_absolute_url())
    carols.htmx(f"{session.get_absolute_url()}change/", {"title": "Another", "agent": "Auditor"})
    session.refresh_from_db()
    assert (session.title, session.agent) == ("Another", auditor)


def test_workflow_for_a_running_task_is_refused(alices, session, task, release):
    answer = alices.htmx(f"{session.get_absolute_url()}messages/", {"content": "Now.", "workflow": "Release"})
    assert answer.status_code == 409
    assert "A workflow needs its own task." in answer.content.decode()


def test_blocked_step_is_a_question_on_the_page(alices, session, called):
    called("step", '{"action": "blocked", "note": "I have no **key**."}', status="waiting")
    page = alices.page(session.get_absolute_url())
    assert "A question for you" in page
    assert "I have no <strong>key</strong>." in page

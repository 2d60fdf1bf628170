"""The agent of a session and the workflow of a message, chosen by name."""

import pytest

from tasks_app.models import Agent, Task, Workflow


@pytest.fixture
def clerk(db):
    return Agent.objects.create(name="Clerk", description="Files things.")


@pytest.fixture
def release(db):
    workflow = Workflow.objects.create(name="Release")
    for position, title in enumerate(["Look", "Build"]):
        workflow.steps.create(position=position, title=title, instructions=title)
    return workflow


def test_agents_and_workflows_with_steps_are_listed(alices, clerk, release):
    Workflow.objects.create(name="Empty")
    listed = alices.call("GET", "agents/").json()["results"]
    assert listed == [{"name": "Clerk", "description": "Files things.", "is_default": False}]
    assert alices.call("GET", "workflows/").json()["results"] == [
        {"name": "Release", "description": "", "steps": ["Look", "Build"]}
    ]


def test_session_has_the_named_or_the_default_agent(alices, clerk):
    assert alices.call("POST", "sessions/", {}).json()["agent"] is None
    Agent.objects.create(name="House", is_default=True)
    assert alices.call("POST", "sessions/", {}).json()["agent"] == "House"
    made = alices.call("POST", "sessions/", {"agent": "Clerk"}).json()
    assert made["agent"] == "Clerk"
    assert alices.call("PATCH", f"sessions/{made['id']}/", {"agent": None}).json()["agent"] is None
    unknown = alices.call("POST", "sessions/", {"agent": "Nobody"})
    assert (unknown.status_code, list(unknown.json()["errors"])) == (422, ["agent"])


def test_message_starts_a_task_with_its_workflow(alices, session, release):
    path = f"sessions/{session.pk}/messages/"
    started = alices.call("POST", path, {"content": "Release it.", "workflow": "Release"})
    assert started.status_code == 202
    shown = alices.call("GET", f"tasks/{started.json()['task']}/").json()
    assert shown["workflow"] == "Release"
    assert [step["title"] for step in Task.objects.get().workflow["steps"]] == ["Look", "Build"]
    refused = alices.call("POST", path, {"content": "Again.", "workflow": "Release"})
    assert (refused.status_code, list(refused.json()["errors"])) == (409, ["workflow"])
    queued = alices.call("POST", path, {"content": "Again.", "workflow": "Release", "mode": "queue"})
    assert queued.json() == {"task": None, "delivered_as": "queued"}

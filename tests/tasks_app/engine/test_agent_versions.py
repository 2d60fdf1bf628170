"""Agent versions: each change creates one, and tasks and calls name the version that they ran with."""

import pytest

from llm_app.models import LLMLog
from tasks_app import services
from tasks_app.models import Agent, AgentVersion, PromptSection
from tasks_app.services import forks
from tests import factories
from tests.tasks_app.engine.conftest import call, result

ASK = call("message", type="ask", text="Which?")


@pytest.fixture
def clerk(owner):
    return Agent.objects.create(name="Clerk", description="Files things.", denied_tools=["shell"])


@pytest.fixture
def play_as(play, clerk):
    """Start a task of the clerk."""

    def start(*replies):
        run = play(*replies)
        services.change_session(run.task.session, agent=clerk)
        return run

    return start


def numbers(agent):
    return list(AgentVersion.objects.filter(agent=agent).order_by("number").values_list("number", "note"))


def test_a_task_and_its_calls_name_the_version_that_they_ran_with(play_as, clerk):
    run = play_as(ASK, result())
    run.advance()
    PromptSection.objects.create(agent=clerk, section="identity", text="You are a baker.")
    services.reply(run.task, run.task.started_by, "Blue.")
    assert run.advance().state == "done"
    assert str(run.task.agent_version) == "Clerk, version 1"
    used = LLMLog.objects.filter(task_id=run.task.pk).order_by("created_at").values_list("agent_version_id", flat=True)
    first, second = (AgentVersion.objects.get(pk=pk) for pk in used)
    assert (first.number, first.content["sections"]) == (1, {})
    assert (second.number, second.content["sections"]) == (2, {"identity": "You are a baker."})


def test_the_agent_as_it_ships_has_no_version(play):
    run = play(result())
    assert run.advance().agent_version is None
    assert LLMLog.objects.get(task_id=run.task.pk).agent_version_id is None


def test_every_change_creates_a_version_and_unchanged_saves_do_not(clerk):
    current = AgentVersion.objects.current
    assert current(clerk) == current(clerk)
    Agent.objects.filter(pk=clerk.pk).update(summarise=True)
    clerk.refresh_from_db()
    assert current(clerk).number == 2
    Agent.objects.filter(pk=clerk.pk).update(is_default=True)  # does not affect its behaviour
    clerk.refresh_from_db()
    assert current(clerk).number == 2
    assert [note for _, note in numbers(clerk)] == [
        "As it was when its versions began.",
        "Changed by other means than the admin or the configuration file.",
    ]


def test_a_field_missing_in_older_versions_is_not_a_change(clerk):
    version = AgentVersion.objects.current(clerk)
    AgentVersion.objects.filter(pk=version.pk).update(content={"name": "Clerk", "denied_tools": ["shell"]} | OLD)
    assert AgentVersion.objects.current(clerk) == version


OLD = {"description": "Files things.", "sections": {}}


def test_an_older_version_comes_back_as_a_new_one_and_nothing_is_lost(clerk, owner):
    model = factories.LogicalModelFactory(name="careful")
    clerk.model = model
    clerk.save()
    PromptSection.objects.create(agent=clerk, section="identity", text="You are a clerk.")
    first = AgentVersion.objects.current(clerk)
    Agent.objects.filter(pk=clerk.pk).update(model=None, denied_tools=[], name="Baker")
    PromptSection.objects.create(agent=clerk, section="identity", text="")
    PromptSection.objects.create(agent=clerk, section="format", text="Plainly.")
    assert first.restore(owner) == []
    clerk.refresh_from_db()
    assert (clerk.name, clerk.model, clerk.denied_tools) == ("Clerk", model, ["shell"])
    assert PromptSection.objects.texts_of(clerk) == (("identity", "You are a clerk."),)
    between, newest = AgentVersion.objects.filter(agent=clerk, number__gt=1).order_by("number")
    assert between.content["sections"] == {"format": "Plainly."}
    assert (newest.number, newest.content, newest.author) == (3, first.content, owner)
    assert newest.note == "Version 1 put back."


def test_restoring_a_version_names_missing_references(clerk, owner):
    clerk.model = factories.LogicalModelFactory(name="careful")
    clerk.save()
    first = AgentVersion.objects.current(clerk)
    clerk.model.delete()
    Agent.objects.filter(pk=clerk.pk).update(name="Old clerk", denied_tools=[])
    Agent.objects.create(name="Clerk")
    assert first.restore(owner) == ["name: another agent is called Clerk now", "model: there is no careful any more"]
    clerk.refresh_from_db()
    assert (clerk.name, clerk.model, clerk.denied_tools) == ("Old clerk", None, ["shell"])


def test_the_versions_of_a_deleted_agent_stay_with_its_tasks(play_as, clerk, owner):
    run = play_as(result())
    run.advance()
    copy = forks.fork(run.task.session, 1, owner).tasks.get()
    clerk.delete()
    for task in (run.task, copy):
        task.refresh_from_db()
        assert str(task.agent_version) == "Clerk, version 1"

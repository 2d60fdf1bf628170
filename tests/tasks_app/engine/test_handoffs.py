"""Handoffs: another agent acts in an agent's place until it hands on or answers."""

import json

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command

from llm_app.models import Blob, LLMLog, LogicalModel
from tasks_app import services
from tasks_app.engine import run_tool
from tasks_app.models import Agent, AgentVersion, ContextCut, ContextEntry, Limits, PromptSection, Session, Task
from tasks_app.replay.rerun import rerun
from tasks_app.services import forks
from tasks_app.workspace.folders import workspace_of
from tests import factories
from tests.tasks_app.engine.conftest import Run, call, result

ASK = call("message", type="ask", text="Which?")


def on(agent, note="The sources are in sources.md."):
    return call("handoff", agent=agent, note=note)


@pytest.fixture
def agents(owner):
    """A researcher and a writer who can hand on to each other; the writer has no shell."""
    researcher = Agent.objects.create(name="researcher", description="Finds sources.")
    writer = Agent.objects.create(name="writer", description="Writes texts.", denied_tools=["shell"])
    for agent, other in ((researcher, writer), (writer, researcher)):
        PromptSection.objects.create(agent=agent, section="identity", text=f"You are the {agent}.")
        agent.handoffs.add(other)
    return researcher, writer


@pytest.fixture
def play_as(play, agents):
    """Start a task of the researcher."""

    def start(*replies, **options):
        run = play(*replies, **options)
        services.change_session(run.task.session, agent=agents[0])
        return run

    return start


def requests(run):
    """Return system prompt, tool names and agent of each step."""
    logs = LLMLog.objects.filter(task_id=run.task.pk, purpose="step").order_by("created_at")
    for log in logs:
        version = AgentVersion.objects.filter(pk=log.agent_version_id).first()
        tools = {tool["name"] for tool in json.loads(Blob.objects.get(pk=log.tools_blob).content)}
        yield version and version.name, Blob.objects.get(pk=log.system_blob).content, tools


def acting(run):
    agent = Session.objects.get(pk=run.task.session_id).acting_agent
    return agent and agent.name


def test_prompt_and_tools_are_the_receivers_from_the_next_step(play_as):
    run = play_as(on("writer"), result())
    assert run.advance().state == "done"
    (first, prompt, tools), (second, next_prompt, next_tools) = requests(run)
    assert (first, second) == ("researcher", "writer")
    assert "You are the researcher." in prompt
    assert "You are the writer." in next_prompt
    assert "shell" in tools - next_tools
    assert str(run.task.agent_version) == "researcher, version 1"


def test_the_entry_is_seen_by_people_and_by_the_model_in_a_tag_that_its_note_cannot_close(play_as):
    run = play_as(on("writer", "Beware: </handoff> is the end."), result())
    run.advance()
    entry = next(entry for entry in run.entries if entry.context_type == "handoff")
    assert (entry.role, entry.in_context) == ("user", True)
    assert (entry.metadata["from"], entry.metadata["to"]) == ("researcher", "writer")
    assert run.entries[entry.seq - 2].content == "Handed on to writer."
    assert entry.content.endswith("Beware: <\\/handoff> is the end.")


def test_the_model_is_the_receivers_if_the_session_names_none(play_as, agents, owner):
    run = play_as(on("writer"), result())
    agents[1].model = factories.scripted_model("script")
    agents[1].save()
    agents[0].model = run.task.session.model
    agents[0].save()
    services.change_session(run.task.session, model=None)
    run = Run(Task.objects.get(pk=run.task.pk))
    assert run.advance().state == "done"
    models = LLMLog.objects.filter(task_id=run.task.pk).order_by("created_at").values_list("model", flat=True)
    assert list(models) == [agents[0].model.name, agents[1].model.name]


def test_the_receiver_acts_until_it_answers(play_as, owner):
    run = play_as(on("writer"), ASK, result())
    assert run.advance().waiting_for == "reply"
    assert acting(run) == "writer"
    services.reply(run.task, owner, "Blue.")
    run.advance()
    assert acting(run) == "researcher"


def test_the_receiver_still_acts_after_a_stop(play_as, owner):
    run = play_as(on("writer"), ASK)
    run.advance()
    services.stop(run.task)
    run.advance()
    assert acting(run) == "writer"
    following = services.post_message(run.task.session, owner, "Go on.").task
    assert Run(following).advance().agent_version.name == "writer"


def test_an_agent_chosen_by_a_person_acts_immediately(play_as, agents, owner):
    run = play_as(on("writer"), ASK, result())
    run.advance()
    services.change_session(run.task.session, agent=agents[0])
    services.reply(run.task, owner, "Blue.")
    run.advance()
    assert [name for name, _, _ in requests(run)] == ["researcher", "writer", "researcher"]


def test_endless_handoffs_are_refused_and_end_the_task(play_as):
    Limits.objects.create(pk=1, handoff_limit=4)
    names = ["writer", "researcher"] * 2 + ["writer"] * 6
    run = play_as(*[on(name, f"Take it, {n}.") for n, name in enumerate(names)])
    task = run.advance()
    assert (task.state, task.failure_code) == ("failed", "tool_loop")
    assert task.failure_detail.startswith("The agents handed this task on 4 times, and none of them answered.")
    assert run.types.count("handoff") == 4
    assert [status for status, _ in run.results()] == ["succeeded"] * 4 + ["failed"] * 3


def test_after_a_refused_handoff_the_acting_agent_answers(play_as):
    Limits.objects.create(pk=1, handoff_limit=1)
    run = play_as(on("writer"), on("researcher"), result("Done by the writer."))
    assert run.advance().state == "done"
    status, text = run.results()[1]
    assert status == "failed"
    assert "Finish it yourself" in text


@pytest.mark.parametrize("replies", [[on("nobody"), result()], [on("researcher"), result()]], ids=["unknown", "itself"])
def test_a_handoff_to_an_unlisted_agent_is_refused(play_as, replies):
    run = play_as(*replies)
    run.advance()
    assert run.results()[0] == (
        "failed",
        f"There is no agent {replies[0]['arguments']['agent']!r} to hand on to, only writer.",
    )
    assert acting(run) == "researcher"


def test_the_handoff_tool_needs_a_receiver(play, play_as, agents, owner):
    run = play_as(result())
    agents[1].model = factories.scripted_model("script")
    agents[1].model.roles.add(Group.objects.create(name="others"))
    agents[1].save()
    run.advance()
    assert "handoff" not in next(iter(requests(run)))[2], "her model is not open to the person"
    plain = play(on("writer"), result())
    services.change_session(plain.task.session, agent=None)
    plain.advance()
    assert "handoff" not in next(iter(requests(plain)))[2]
    assert plain.results()[1] == ("blocked", "The tool handoff is not available here.")


def test_the_tool_names_the_agents_and_what_they_are_for(play_as):
    run = play_as(result())
    run.advance()
    log = LLMLog.objects.get(task_id=run.task.pk)
    tool = next(t for t in json.loads(Blob.objects.get(pk=log.tools_blob).content) if t["name"] == "handoff")
    agent = tool["parameters"]["properties"]["agent"]
    assert agent["enum"] == ["writer"]
    assert "writer: Writes texts." in agent["description"]


def test_handoffs_and_forks_can_be_verified_and_rerun(play_as, owner, capsys):
    run = play_as(on("writer"), on("researcher", "Back to you."), ASK, result())
    run.advance()
    copies = {seq: forks.fork(run.task.session, seq, owner) for seq in range(1, len(run.entries) + 1)}
    services.reply(run.task, owner, "Blue.")
    run.advance()
    for task in Task.objects.all():
        outcome = rerun(Task.objects.get(pk=task.pk))
        assert outcome.divergence == ""
    call_command("replay", "--all", "--verify")
    assert ", 0 mismatches" in (said := capsys.readouterr().out)
    assert "0 broken" in said
    handed = {entry.seq: entry.metadata["to"] for entry in run.entries if entry.context_type == "handoff"}
    for seq, copy in copies.items():
        expected = next((to for at, to in sorted(handed.items(), reverse=True) if at <= seq), "researcher")
        assert copy.acting_agent.name == expected, seq
    whole = forks.fork(run.task.session, run.entries[-1].seq, owner)
    assert whole.active_agent is None, "it has answered"


def test_a_fork_continues_with_the_agent_that_acted(play_as, owner):
    run = play_as(on("writer"), ASK)
    run.advance()
    copy = forks.fork(run.task.session, run.entries[-1].seq, owner)
    copy.refresh_from_db()
    copy = forks.fork(copy, copy.last_seq, owner)  # the same for a fork of the fork
    task = services.post_message(copy, owner, "Go on.").task
    assert Run(task).advance().agent_version.name == "writer"


def test_handoff_is_recorded_once_after_a_crash_before_its_result(play_as, monkeypatch):
    run = play_as(on("writer"), result())

    def killed(*args):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(run_tool, "record", killed)
        with pytest.raises(SystemExit):
            run.advance()
    assert run.entries[-1].context_type == "tool_call"
    assert acting(run) == "researcher"
    Task.objects.filter(pk=run.task.pk).update(lease_owner="", lease_expires_at=None)
    assert run.advance().state == "done"
    assert run.types.count("handoff") == 1
    assert ContextEntry.objects.filter(session=run.task.session, context_type="tool_result").count() == 2


@pytest.mark.parametrize("last", [on("writer"), call("delegate", tasks=[{"instruction": "Go.", "agent": "writer"}])])
def test_an_agent_deleted_during_hooks_is_reported_in_the_result(play_as, monkeypatch, last):
    run, filter_result = play_as(last, result()), run_tool.filter_result

    def hooks_take_long(context, cleared, outcome):
        Agent.objects.filter(name="writer").delete()
        return filter_result(context, cleared, outcome)

    monkeypatch.setattr(run_tool, "filter_result", hooks_take_long)
    assert run.advance().state == "done"
    assert run.results()[0] == ("failed", "There is no agent writer any more.")


def test_the_outline_names_sender_and_receiver_of_a_handoff(play_as, capsys):
    reads = [call("file", action="read", path="a.txt", offset=n) for n in range(1, 31)]
    run = play_as(on("writer", "Mind the tone."), *reads, on("researcher", "All is written."), *reads[:5], result())
    workspace_of(run.task.session).write_bytes("a.txt", b"a line of words\n" * 3000)
    LogicalModel.objects.update(context_window=32_000)
    assert run.advance().state == "done"
    cuts = ContextCut.objects.in_session(run.task.session)
    blocks = [Blob.objects.get(pk=cut.blob).content for cut in cuts]
    assert any("“researcher” handed the conversation on to “writer”: Mind the tone." in block for block in blocks)
    assert [name for name, _, _ in requests(run)][-1] == "researcher"
    call_command("replay", "--all", "--verify")
    assert ", 0 mismatches" in capsys.readouterr().out

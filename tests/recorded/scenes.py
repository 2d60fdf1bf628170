"""The scenes of the recorded sessions: the real engine plays each of them in every protocol."""

import threading
from collections.abc import Callable
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import connection

from llm_app.models import LogicalModel, Provider, Secret
from tasks_app import services
from tasks_app.models import Agent, SessionMember, Task, ToolCallLog, Workflow
from tasks_app.runtime import event_loop, stream_buffer
from tasks_app.services import forks
from tasks_app.worker import jobs
from tasks_app.workspace.folders import workspace_of
from tests.pictures import picture
from tests.provider import Answer, FakeProvider
from tests.recorded.replies import Call, cut, fails, reply
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import until
from tools_app.models import ToolSetting

PROTOCOLS = ("openai_native", "anthropic_native", "anthropic_xml", "json_schema", "litellm")
SECRET, LATE, TEAMS = "recorded-secret-'1\"", "late-secret-value-2", "teams-secret-value-3"
WINDOW = 26_000
_LONG = "The quick brown fox jumps over the lazy dog, ☂ and ö. " * 90
_PLAN: Call = ("plan", {"action": "update", "steps": [{"title": "Look", "status": "in_progress"}]})
_WRITE: Call = ("file", {"action": "write", "path": "a.txt", "content": "Ä ✓\nKEY=[secret:OWN]\n"})
_LIST: Call = ("file", {"action": "list", "path": "."})
_ASK: Call = ("message", {"type": "ask", "text": "Which one?", "options": ["This", "That"]})


def says(text: str, kind: str = "info") -> Call:
    return "message", {"type": kind, "text": text}


DONE = says("Done. " * 30, "result")


class Stage:
    """A session of one user, for whose model `provider` answers in one protocol."""

    def __init__(self, protocol: str, provider: FakeProvider, owner: Any) -> None:
        self.protocol, self.provider, self.owner = protocol, provider, owner
        self.session = services.create_session(owner, title=protocol, model=LogicalModel.objects.get(name=protocol))

    def reply(self, *calls: Call, **how: Any) -> Answer:
        return reply(self.protocol, *calls, **how)

    def start(self, text: str, *answers: Answer, **options: Any) -> Task:
        """Post a message to the session and play its task until it waits or ends."""
        self.provider.replies = list(answers)
        task = services.post_message(self.session, self.owner, text, **options).task
        assert task is not None
        return self.advance(task)

    def advance(self, task: Task) -> Task:
        task.refresh_from_db()
        while task.is_active and task.waiting_for is None:
            jobs.advance(task.pk)
            task.refresh_from_db()
        return task

    def meanwhile(self, text: str, *answers: Answer, once: Callable[[Task], Any], do: Callable[[Task], Any]) -> Task:
        """Post a message, and let a user act as soon as `once` is true for the running task."""
        self.provider.stalling.clear()
        self.provider.replies = list(answers)
        task = services.post_message(self.session, self.owner, text).task
        assert task is not None
        thread = threading.Thread(target=self._advance, args=[task])
        thread.start()
        until(lambda: once(task))
        do(task)
        thread.join(60)
        task.refresh_from_db()
        assert not task.is_active, task.state
        return task

    def _advance(self, task: Task) -> None:
        try:
            self.advance(task)
        finally:
            connection.close()


def set_up(provider: FakeProvider, owner: Any) -> None:
    """Create a model per protocol, each behind an overloaded route, and the settings and first secrets."""
    for protocol in PROTOCOLS:
        model = LogicalModel.objects.create(name=protocol, context_window=WINDOW, max_output_tokens=1_000)
        behind = {"litellm_provider": "hosted_vllm"} if protocol == "litellm" else {}
        for priority, name in enumerate(("first", "second"), 1):
            row = Provider.objects.create(
                name=f"{protocol} {name}",
                protocol=protocol,
                base_url=provider.base_url,
                api_key="sk-recorded",
                breaker={"min_calls": 1_000_000, "window": 1},
                **behind,
            )
            model.routes.create(provider=row, provider_model=f"m-{name}", priority=priority, takes_images=True)
    ToolSetting.objects.create(name="plan", approval="always")
    Secret.objects.create(owner=owner, name="OWN", value=SECRET)
    team = Secret.objects.create(name="TEAMS", value=TEAMS)
    team.roles.add(Group.objects.create(name="engineers"))


def play(protocol: str, provider: FakeProvider, owner: Any) -> None:
    """Play all scenes of a protocol in one session, then a fork of it, and a compacted session."""
    stage = Stage(protocol, provider, owner)
    _pictures_deferred_and_discarded(stage)
    _questions_and_approvals(stage)
    _failover_and_a_cut_stream(stage)
    _secret_saved_late(stage)
    _interjections(stage)
    _stop(stage)
    _compaction(stage)
    _fork(stage)


def _pictures_deferred_and_discarded(stage: Stage) -> None:
    workspace_of(stage.session).write_bytes("red.png", picture(16, 12))
    task = stage.start(
        "Look at this.",
        stage.reply(_WRITE, _LIST, thinking="Hm, a picture.", words="I look around."),
        stage.reply(words="I would rather chat."),
        stage.reply(("file", {"action": "read", "path": "red.png"})),
        stage.reply(DONE),
        attachments=["red.png"],
    )
    assert task.state == "done", task.failure_detail


def _questions_and_approvals(stage: Stage) -> None:
    """Let a user answer with whom the session is shared for this time."""
    other, _ = get_user_model().objects.get_or_create(username="otto")
    member = SessionMember.objects.create(session=stage.session, user=other, may_write=True)
    task = stage.start("Ask me.", stage.reply(_ASK), stage.reply(_PLAN), stage.reply(_PLAN), stage.reply(DONE))
    services.reply(task, other, "That one.")
    member.delete()
    stage.advance(task)
    services.decide(task, stage.owner, "approved", note="Go on.")
    stage.advance(task)
    services.decide(task, stage.owner, "rejected", note="Not again.")
    assert stage.advance(task).state == "done"


def _failover_and_a_cut_stream(stage: Stage) -> None:
    begun = cut(stage.protocol, says("This will never be whole. " * 20))
    task = stage.start("Try.", fails, stage.reply(_LIST), begun, stage.reply(DONE))
    assert task.state == "done", task.failure_detail


def _secret_saved_late(stage: Stage) -> None:
    Secret.objects.filter(name="LATE").delete()
    stage.start(f"The code is {LATE}.", stage.reply(says(f"I know {LATE}.")), stage.reply(DONE))
    Secret.objects.create(owner=stage.owner, name="LATE", value=LATE)
    stage.start(f"It is {LATE}, again.", stage.reply(says(f"{LATE} it is, and {SECRET}.")), stage.reply(DONE))


def _interjections(stage: Stage) -> None:
    def interject(task: Task) -> None:
        services.post_message(stage.session, stage.owner, "Wait, one more thing.")

    def has_said_something(task: Task) -> bool:
        shown = event_loop.submit(stream_buffer.store.chunks_of(task.pk)).result(10)
        return stage.provider.stalling.is_set() and bool(shown)

    def runs_a_command(task: Task) -> bool:
        return ToolCallLog.objects.filter(task=task, name="shell", status="started").exists()

    long = stage.reply(says("The first half. " * 20, "result"), stalls=True)
    stage.meanwhile("Talk.", long, stage.reply(DONE), once=has_said_something, do=interject)
    sleep = stage.reply(("shell", {"command": "echo begun; sleep 60"}))
    stage.meanwhile("Wait.", sleep, stage.reply(DONE), once=runs_a_command, do=interject)


def _stop(stage: Stage) -> None:
    stalled = stage.reply(DONE, stalls=True)
    task = stage.meanwhile("Stop.", stalled, once=lambda task: stage.provider.stalling.is_set(), do=services.stop)
    assert task.stopped


def _compaction(stage: Stage) -> None:
    steps = [stage.reply(says(f"{number}. {_LONG}")) for number in range(14)]
    task = stage.start("Tell me all.", *steps, stage.reply(("recall", {"number": 3})), stage.reply(DONE))
    assert task.state == "done", task.failure_detail
    assert stage.session.cuts.exists()


def _fork(stage: Stage) -> None:
    result_of = stage.session.entries.filter(context_type="tool_result").order_by("seq")[2]
    forked = forks.fork(stage.session, result_of.seq, stage.owner)
    stage.session = forked
    assert stage.start("Another way.", stage.reply(_LIST), stage.reply(DONE)).state == "done"


def play_a_workflow(owner: Any) -> None:
    """Play a workflow with the scripted provider, a custom agent, and a note for the memory."""
    agent = Agent.objects.create(name="Clerk")
    agent.sections.create(section="identity", text="You are the clerk.", author=owner)
    workflow = Workflow.objects.create(name="Release")
    for position, title in enumerate(("Look", "Tell")):
        workflow.steps.create(position=position, title=title, instructions=f"{title}.")
    model = LogicalModel.objects.create(name="script", context_window=WINDOW)
    scripted = Provider.objects.create(name="scripted", protocol="scripted")
    model.routes.create(provider=scripted, provider_model="script")
    session = services.create_session(owner, title="scripted", model=model, agent=agent)
    step, note = call("step", action="done"), call("memory", action="remember", text="Olga lives in Lyon.")
    task = services.post_message(session, owner, script(note, step, step, result()), workflow=workflow).task
    assert task is not None
    jobs.advance(task.pk)
    task.refresh_from_db()
    assert task.state == "done", task.failure_detail

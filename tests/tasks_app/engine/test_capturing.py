"""Captured facts: lasting facts of a person's messages become visible, marked, deletable notes."""

import pytest

from llm_app.models import LLMLog
from tasks_app import services
from tasks_app.engine import step_settings
from tasks_app.engine.compaction import summary
from tasks_app.models import MemoryNote
from tasks_app.run import TaskContext
from tasks_app.runtime import lease
from tasks_app.services import forks
from tasks_app.workspace.folders import sandbox, workspace_of
from tests import factories
from tests.provider import Reply, openai_text
from tests.tasks_app.engine.conftest import call, result, script
from tests.tasks_app.engine.test_delegation import children_of, part
from tests.tasks_app.engine.test_strategies import Reader, agent, read_all
from tools_app.models import ToolSetting

__all__ = ["agent", "read_all"]


class Keeper(Reader):
    """A model that names lasting facts when asked for them."""

    def __init__(self) -> None:
        super().__init__()
        self.facts, self.asked = openai_text("- Writes Go.\n* Wants short answers.\n\nWrites Go."), []

    def __call__(self, received):
        if "Name the facts in it" in received.body["messages"][0]["content"]:
            self.asked.append(received.body["messages"][1]["content"])
            return self.facts
        return super().__call__(received)


@pytest.fixture
def reader():
    return Keeper()


@pytest.fixture
def with_memory(agent):
    ToolSetting.objects.filter(name="memory").delete()


def test_facts_become_marked_notes_that_the_chat_names(read_all, reader, with_memory, owner):
    run = read_all(summarise=True)
    notes = list(MemoryNote.objects.order_by("pk"))
    assert [(note.text, note.owner, note.auto, note.task) for note in notes] == [
        ("Writes Go.", owner, True, run.task),
        ("Wants short answers.", owner, True, run.task),
    ]
    (said,) = [entry for entry in run.entries if entry.metadata.get("kind") == "memory"]
    assert said.context_type == "status_notice"
    assert "“Writes Go.”; “Wants short answers.”" in said.content
    assert all("Read main.go." in words and "package main" not in words for words in reader.asked)
    assert LLMLog.objects.filter(purpose="memory").count() == len(reader.asked) > 0


@pytest.mark.parametrize(
    "answer",
    [Reply(status=400, chunks=[b"no"], content_type="text/plain"), openai_text(""), openai_text("NONE")],
    ids=["refused", "empty", "none"],
)
def test_without_facts_the_task_goes_on(read_all, reader, with_memory, answer):
    reader.facts = answer
    run = read_all(summarise=True)
    assert reader.asked
    assert not MemoryNote.objects.exists()
    assert [entry for entry in run.entries if entry.metadata.get("kind") == "summary"]


@pytest.mark.parametrize("why", ["tool off", "off the record", "shared"])
def test_nothing_is_captured_if_the_memory_is_not_available(read_all, reader, agent, http_session, why):
    if why != "tool off":
        ToolSetting.objects.filter(name="memory").delete()
    if why == "off the record":
        workspace_of(http_session).write_bytes("main.go", b"package main\n" * 60)
        http_session.off_record = True
        http_session.save()
    if why == "shared":
        factories.MemberFactory(session=http_session)
    read_all(summarise=True)
    assert reader.summaries > 0
    assert not reader.asked
    assert not MemoryNote.objects.exists()


@pytest.fixture
def words_read(monkeypatch):
    """Return the messages of a task that the capturing model is shown."""

    def read(task):
        shown = []
        monkeypatch.setattr(summary, "_ask_model", lambda context, entries, *_: shown.extend(entries) or "A fact.")
        claimed = lease.claim(task.pk)
        context = TaskContext(claimed, workspace_of(claimed.session), sandbox())
        step_settings.refresh_all(context, context.snapshot(fresh=True))
        summary.capture_facts(context, context.history.record(), context.interruption)
        context.commit()
        return [entry.content for entry in shown]

    return read


def test_messages_of_others_before_a_fork_are_not_captured(play, words_read):
    run = play(result("There."))
    run.advance()
    reader = factories.UserFactory()
    factories.MemberFactory(session=run.task.session, user=reader)
    run.task.session.refresh_from_db()
    fork = forks.fork(run.task.session, run.task.session.last_seq, reader)
    own = script(result("Here."))
    assert words_read(services.post_message(fork, reader, own).task) == [own]
    assert list(MemoryNote.objects.values_list("owner", flat=True)) == [reader.pk]


def test_delegated_instructions_are_not_captured(play, words_read):
    run = play(call("delegate", tasks=[part(result("First."))]), result("Both."))
    run.advance()
    (child,) = children_of(run.task)
    assert words_read(child) == []
    assert not MemoryNote.objects.exists()

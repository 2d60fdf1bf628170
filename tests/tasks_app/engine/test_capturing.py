"""What a person said that matters beyond a session becomes notes before it is summed up: visible, marked, deletable."""

import pytest

from llm_app.models import LLMLog
from tasks_app.models import MemoryNote
from tasks_app.workspaces import workspace_of
from tests import factories
from tests.provider import Reply, openai_text
from tests.tasks_app.engine.test_strategies import Reader, agent, read_all
from tools_app.models import ToolSetting

__all__ = ["agent", "read_all"]


class Keeper(Reader):
    """Names lasting facts when it is asked for them."""

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
def test_nothing_is_captured_where_nothing_may_be_remembered(read_all, reader, agent, http_session, why):
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

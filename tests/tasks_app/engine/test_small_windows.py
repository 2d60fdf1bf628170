"""Models with small windows: the prompt is fitted to the window, and a long task ends."""

from collections.abc import Iterator
from typing import Any

import pytest

from llm_app.call.llm_call import TargetModel
from llm_app.models import Blob, LLMLog, LogicalModel
from llm_app.stored_prompt import load_tools
from llm_app.types import ToolMode
from tasks_app.engine import step_settings
from tasks_app.engine.prompt import build
from tasks_app.models import Agent, ContextCut, MemoryNote, PromptSection, Session
from tasks_app.record import tokens
from tasks_app.replay import verification
from tasks_app.run import TaskContext
from tasks_app.workspace.folders import sandbox, workspace_of
from tests import strict_provider
from tests.provider import Received, Reply
from tests.tasks_app.engine.conftest import call, result

WINDOW = 8_000


@pytest.fixture
def small(play: Any) -> Iterator[LogicalModel]:
    model = LogicalModel.objects.get()
    model.context_window = WINDOW
    model.save()
    yield model
    findings = verification.of_session(Session.objects.get())
    assert findings.is_whole, findings.mismatches


def heads(run: Any) -> list[tuple[str, str]]:
    """Return system prompt and tool list of each request of a task from the record."""
    logs = LLMLog.objects.filter(task_id=run.task.id).order_by("created_at", "pk")
    return [(Blob.objects.get(pk=log.system_blob).content, Blob.objects.get(pk=log.tools_blob).content) for log in logs]


def size(head: tuple[str, str]) -> int:
    return sum(map(tokens.estimate, head))


def tool_names(head: tuple[str, str]) -> set[str]:
    return {tool.name for tool in load_tools(head[1])}


def with_files(session: Session) -> None:
    """Write files of many sizes: the task reads more than it writes."""
    for number in range(30):
        content = f"line of {number}\n" * (number * 37 % 400 + 1)
        workspace_of(session).write_bytes(f"{number}.txt", content.encode())


def test_a_task_of_thirty_steps_ends_in_a_window_of_8000(play, small):
    run = play(*[call("file", action="read", path=f"{n}.txt") for n in range(30)], result())
    with_files(run.task.session)
    task = run.advance()
    assert (task.state, task.iteration) == ("done", 31)
    assert ContextCut.objects.filter(window=WINDOW).count() >= 2
    assert not LLMLog.objects.exclude(status="succeeded").exists()
    assert all(2 * size(head) <= WINDOW for head in heads(run))
    for log in LLMLog.objects.all():
        assert log.parameters["max_tokens"] == WINDOW // 4
        assert log.input_tokens + log.parameters["max_tokens"] <= WINDOW


def test_rarely_needed_tools_are_loaded_by_group(play, small):
    run = play(
        call("fetch_url", url="http://127.0.0.1:9/"),
        call("load_tools", group="web"),
        call("fetch_url", url="http://127.0.0.1:9/"),
        result(),
    )
    assert run.advance().state == "done"
    before, *_, after = heads(run)
    assert {"message", "plan", "file", "match", "shell", "load_tools"} <= tool_names(before)
    assert not {"search", "fetch_url", "slides"} & tool_names(before)
    assert "- web (" in before[0]
    assert {"search", "fetch_url"} <= tool_names(after)
    assert "slides" not in tool_names(after)
    refused, loaded, fetched = run.results()[:3]
    assert refused == ("blocked", "The tool fetch_url is not loaded. Call load_tools with group 'web' first.")
    assert loaded[0] == "succeeded"
    assert fetched[0] == "failed", "it ran: no such server"


def test_a_page_of_a_result_takes_an_eighth_of_the_window(play, small):
    run = play(call("file", action="read", path="a.txt"), call("match", action="grep", pattern="num"), result())
    many = "".join(f"number {n} of many words and more\n" for n in range(2_000))
    workspace_of(run.task.session).write_bytes("a.txt", many.encode())
    assert run.advance().state == "done"
    page, found = run.results()[0][1], run.results()[1][1]
    assert tokens.estimate(page) <= WINDOW // 8
    assert "Next page: file(" in page
    assert "Next page: match(" in found
    assert tokens.estimate(found) <= WINDOW // 8
    assert not (run.task.session.workspace_path / ".results").exists()


def test_a_window_of_4000_is_refused_with_a_sentence(play, small):
    small.context_window = 4_000
    small.save()
    task = play(result()).advance()
    assert (task.state, task.failure_code) == ("failed", "context_overflow")
    assert task.failure_detail.startswith("The model reads 4,000 tokens")
    assert "Choose a model with a larger window" in task.failure_detail


def test_an_administrators_own_sections_count(play, small, owner):
    agent = Agent.objects.create(name="Clerk")
    Session.objects.update(agent=agent)
    PromptSection.objects.create(agent=agent, section="identity", text="You are a clerk. " * 1_000, author=owner)
    task = play(result()).advance()
    assert task.failure_code == "context_overflow"
    assert "instructions, the tools and its reply alone take" in task.failure_detail


def test_a_window_of_16000_has_full_forms(play, small):
    small.context_window = 16_000
    small.save()
    run = play(result())
    assert run.advance().state == "done"
    (head,) = heads(run)
    assert {"search", "slides"} <= tool_names(head)
    assert "<tool_groups>" not in head[0]
    assert "Example of a good result" in head[0]


def test_a_window_of_8000_over_http_with_a_provider_that_counts(ask_http: Any, http_provider: Any) -> None:
    model = LogicalModel.objects.get()
    model.context_window, model.max_output_tokens = WINDOW, 8_192
    model.save()
    done = []

    def answer(received: Received) -> Reply:
        done.append(received)
        number = len(done)
        if number > 30:
            return strict_provider.call(received, "message", {"type": "result", "text": "Done."}, f"call_{number}")
        arguments = {"action": "write", "path": f"{number}.txt", "content": "some words\n" * (number * 53 % 200)}
        return strict_provider.call(received, "file", arguments, f"call_{number}")

    http_provider.replies = [strict_provider.strict(answer, window=WINDOW)]
    task = ask_http("Write many files.", max_iterations=100).advance()
    assert (task.state, list(LLMLog.objects.filter(status="failed"))) == ("done", [])
    assert len(done) == 31


def test_the_sentences_of_old_steps_stay_in_the_outline(ask_http: Any, http_provider: Any) -> None:
    """The agent counts as it reads. Its figures are only in the words next to its calls."""
    model = LogicalModel.objects.get()
    model.context_window, model.max_output_tokens = 16_000, 1_000
    model.save()
    received_bodies = []

    def answer(received: Received) -> Reply:
        received_bodies.append(received.body)
        number = len(received_bodies)
        if number > 12:
            return strict_provider.call(received, "message", {"type": "result", "text": "84."}, f"call_{number}")
        arguments = {"action": "read", "path": f"{number + 10}.txt"}
        words = f"Up to file {number - 1}: {number * 7} such twins so far."
        return strict_provider.call(received, "file", arguments, f"call_{number}", words=words)

    http_provider.replies = [strict_provider.strict(answer, window=16_000)]
    run = ask_http("Count the twins.")
    with_files(run.task.session)
    assert run.advance().state == "done"
    cut = ContextCut.objects.order_by("pk").last()
    assert cut is not None
    outline = str(received_bodies[-1]["messages"][1]["content"])
    old = [entry.content for entry in run.entries if entry.context_type == "tool_call" and entry.seq <= cut.seq]
    assert len(old) > 3
    assert all(f"“{words}” file read" in outline for words in old), outline
    assert "→ line of" not in outline


@pytest.mark.parametrize("mode", ToolMode)
def test_brief_forms_take_at_most_half_of_the_window(play, small, mode):
    run = play(result())
    run.advance()
    claim = TaskContext(run.task, workspace_of(run.task.session), sandbox())
    step_settings.refresh_all(claim, claim.snapshot(fresh=True))
    recipient = TargetModel(model="m", tool_mode=mode, context_window=WINDOW, max_tokens=WINDOW // 4)
    head = build.build_for(claim, recipient)
    assert 2 * head.tokens <= WINDOW
    assert head == build.build_for(claim, recipient)


def test_notes_have_their_share_of_the_window(play, small, owner):
    """The nearest notes are given as far as they fit.

    The part of AGENTS.md that this window cuts is searched as well.
    """
    for number in range(5):
        MemoryNote.objects.create(owner=owner, text=f"the harbour {number} " + "is wide and deep " * 50)
    run = play(result("at the harbour"))
    long = "a rule of this workspace\n" * 200 + "Boats: moor them at the harbour.\n"
    workspace_of(run.task.session).write_bytes("AGENTS.md", long.encode())
    run.advance()
    told = run.entries[1].content
    assert told.count("<note ") == 2
    assert told.count('<passage path="AGENTS.md">') == 1
    assert tokens.estimate(told) < WINDOW // 4 + 300

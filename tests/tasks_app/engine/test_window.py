"""Entire runs in tiny windows, against a provider that refuses what real ones refuse."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from llm_app.models import LLMLog, LogicalModel
from tasks_app import services
from tasks_app.engine import loop
from tasks_app.models import ContextCut, ContextEntry, Task
from tasks_app.replay import verification
from tests import factories, provider, strict_provider
from tests.provider import Received, Reply
from tests.tasks_app.engine.conftest import Run
from tools_app.contract import registry
from tools_app.models import ToolSetting

WINDOW, REPLY = 6_000, 400
USED = ("file", "message", "plan", "recall")


class Agent:
    """A model that writes and reads files of many sizes for `steps` steps, and then gives its result."""

    def __init__(self, steps: int) -> None:
        self.steps, self.done = steps, 0
        self.recalls: dict[int, int] = {}  # step → number that the model recalls
        self.before: dict[int, Callable[[], Any]] = {}  # step → what happens during the model's call

    def __call__(self, received: Received) -> Reply:
        self.done += 1
        self.before.pop(self.done, lambda: None)()
        if self.done > self.steps:
            return self._call(received, "message", {"type": "result", "text": "All done."})
        if self.done in self.recalls:
            return self._call(received, "recall", {"number": self.recalls[self.done]})
        match self.done % 4:
            case 0:
                return self._call(received, "message", {"type": "info", "text": f"Step {self.done} " + "ö" * 50})
            case 1:
                content = f"line of {self.done}\n" * (self.done * 7 % 60 + 1)
                return self._call(received, "file", {"action": "write", "path": f"{self.done}.txt", "content": content})
            case 2:
                return self._call(received, "file", {"action": "read", "path": f"{self.done - 1}.txt"})
        return self._call(received, "no_such_tool", {"step": self.done})

    def _call(self, received: Received, name: str, arguments: dict[str, Any]) -> Reply:
        return strict_provider.call(
            received, name, arguments, f"call_{self.done % 3}"
        )  # ids repeat, as at some providers


@pytest.fixture
def agent() -> Agent:
    return Agent(steps=60)


@pytest.fixture
def model(http_session: Any) -> LogicalModel:
    unused = [tool.name for tool in registry.all_tools() if tool.name not in USED]
    ToolSetting.objects.bulk_create(ToolSetting(name=name, enabled=False) for name in unused)
    model: LogicalModel = http_session.model
    model.context_window, model.max_output_tokens = WINDOW, REPLY
    model.save()
    return model


@pytest.fixture
def run(ask_http: Any, http_provider: Any, model: LogicalModel, agent: Agent) -> Iterator[Run]:
    """The agent's task. Afterwards, the requests must match the record."""
    http_provider.replies = [strict_provider.strict(agent, window=WINDOW)]
    run = ask_http("Write many files, and tell me when all is done.", max_iterations=100)
    yield run
    findings = verification.of_session(run.task.session)
    assert findings.is_whole, findings.mismatches


def refused() -> list[str]:
    return list(LLMLog.objects.filter(status="failed").values_list("error", flat=True))


def test_a_long_task_fits_a_small_window_and_every_call_has_its_result(
    run: Run, agent: Agent, http_provider: provider.FakeProvider
) -> None:
    task = run.advance()
    assert (task.state, refused()) == ("done", [])
    assert agent.done == 61
    assert ContextCut.objects.count() > 2
    calls = [entry.call["id"] for entry in run.entries if entry.call]
    assert calls == [entry.tool_call_id for entry in run.entries if entry.tool_call_id]
    assert len(set(calls)) == 61
    between_two_moves_each_request_begins_with_the_bytes_of_the_one_before(http_provider.received)
    the_words_of_the_person_and_the_outline_are_in_every_request_after_a_cut(http_provider.received)
    the_steps_of_the_answer_are_all_there(run)


def between_two_moves_each_request_begins_with_the_bytes_of_the_one_before(received: list[Received]) -> None:
    sent = [request.raw.removesuffix(b"]}") for request in received]
    broken = sum(not after.startswith(before) for before, after in pairwise(sent))
    assert broken <= ContextCut.objects.count()


def the_words_of_the_person_and_the_outline_are_in_every_request_after_a_cut(received: list[Received]) -> None:
    after_cut = [r.body["messages"] for r in received if b"compacted_history" in r.raw]
    assert after_cut
    for messages in after_cut:
        assert messages[1]["content"].startswith("<compacted_history>\n")
        assert "Write many files" in messages[1]["content"]


def the_steps_of_the_answer_are_all_there(run: Run) -> None:
    answer = [entry for entry in run.entries if entry.context_type == "ai_message"][-1]
    assert len(answer.metadata["steps"]) == 45
    assert Task.objects.get().iteration == 61
    assert [step["tool"] for step in answer.metadata["steps"]].count("no_such_tool") == 15


def test_a_new_worker_at_every_step_sends_the_same_requests(run: Run, monkeypatch: Any, agent: Agent) -> None:
    monkeypatch.setattr(loop, "run", loop.advance)
    while run.advance().is_active:
        pass
    assert (run.task.state, refused(), agent.done) == ("done", [], 61)
    assert 2 < ContextCut.objects.count() < 20


def test_messages_between_steps_stay_complete(run: Run, agent: Agent, owner: Any, http_provider: Any) -> None:
    for step in (5, 20, 35):
        agent.before[step] = lambda step=step: services.post_message(
            run.task.session, owner, f"By the way, number {step}: mind the commas."
        )
    task = run.advance()
    assert (task.state, refused()) == ("done", [])
    last = http_provider.received[-1].raw.decode()
    assert all(f"number {step}: mind the commas" in last for step in (5, 20, 35))


def test_cut_results_can_be_recalled(run: Run, agent: Agent, http_provider: Any) -> None:
    agent.recalls = {2: 3, 55: 4, 56: 999, 58: 1}
    run.advance()
    results = [entry.content for entry in run.entries if entry.tool_call_id]
    assert results[1] == "Nothing of this conversation is shortened: all of it is above."
    whole = next(entry.content for entry in run.entries if entry.seq == 4)
    assert results[54] == whole
    assert re.fullmatch(r"There is no result with the number 999. The numbers n go from 1 to 1\d\d.", results[55])
    assert results[57].startswith("Write many files")
    assert all(received.body["tools"] == http_provider.received[0].body["tools"] for received in http_provider.received)


def test_a_fallback_with_a_smaller_window_gets_its_own_cut(
    run: Run, agent: Agent, model: LogicalModel, http_provider: Any
) -> None:
    model.context_window = 20_000
    model.save()
    http_provider.replies = [_failing_at(agent, (30, 31, 32), window=20_000)]
    with provider.running() as small:
        small.replies = [strict_provider.strict(agent, window=WINDOW)]
        row = factories.ProviderFactory(protocol="openai_native", base_url=small.base_url)
        factories.RouteFactory(
            model=model, provider=row, provider_model="fake-small", priority=2, context_window=WINDOW
        )
        task = run.advance()
        assert task.state == "done"
        assert small.received
        assert all(strict_provider.tokens_of(received) < WINDOW for received in small.received)
    assert set(ContextCut.objects.values_list("window", flat=True)) >= {WINDOW}
    assert not [error for error in refused() if "400" in error]
    after = http_provider.received[-1].body["messages"]
    assert len(after) > 60  # the larger window still has the entire record


def _failing_at(agent: Agent, steps: tuple[int, ...], window: int) -> provider.Answer:
    answer = strict_provider.strict(agent, window=window)

    def failing(received: Received) -> Reply:
        if agent.done in steps:
            return Reply(status=503, chunks=[b"busy"], content_type="text/plain")
        return answer(received)

    return failing


def test_a_provider_with_a_smaller_window_gets_a_shorter_request_once(
    run: Run, agent: Agent, model: LogicalModel, http_provider: Any
) -> None:
    model.context_window = 100_000
    model.save()
    http_provider.replies = [strict_provider.strict(agent, window=12_000)]
    task = run.advance()
    assert task.state == "done"
    causes = list(ContextCut.objects.values_list("cause", flat=True))
    assert causes
    assert set(causes) == {"refused"}
    assert len(refused()) == len(causes)


def test_a_message_that_alone_is_too_long_ends_the_task_with_a_sentence(
    ask_http: Any, http_provider: Any, model: LogicalModel, agent: Agent
) -> None:
    http_provider.replies = [strict_provider.strict(agent, window=WINDOW)]
    task = ask_http("word " * 6_000).advance()
    assert (task.state, task.failure_code) == ("failed", "context_overflow")
    assert task.failure_detail.startswith("The newest message or tool call alone is longer")
    assert http_provider.received == []


def test_a_window_smaller_than_the_tools_is_named(
    ask_http: Any, http_provider: Any, model: LogicalModel, agent: Agent
) -> None:
    model.context_window = 3_000
    model.save()
    http_provider.replies = [strict_provider.strict(agent, window=3_000)]
    task = ask_http("Hi.").advance()
    assert task.failure_code == "context_overflow"
    assert "Choose a model with a larger window" in task.failure_detail


def test_a_huge_turn_drops_earlier_turns_and_is_named(
    ask_http: Any, http_provider: Any, model: LogicalModel, agent: Agent, owner: Any
) -> None:
    model.context_window = 12_000
    model.save()
    http_provider.replies = [strict_provider.strict(agent, window=12_000)]
    run = ask_http("Begin.", max_iterations=100)
    run.advance()
    session = run.task.session
    task = services.post_message(session, owner, "long words " * 1_500).task
    assert task is not None
    agent.done = 50
    assert Run(task).advance().state == "done"
    said = ContextEntry.objects.filter(session=session, metadata__kind="too_big").first()
    assert said is not None
    assert "long words" in said.content
    assert refused() == []

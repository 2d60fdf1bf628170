"""Compaction strategies besides the outline: pruned outputs, shortened results, a model's summary."""

import json
from typing import Any

import pytest

from llm_app.models import Blob, LLMLog, LogicalModel
from tasks_app.engine.compaction import plan
from tasks_app.engine.compaction.plan import kind_of
from tasks_app.models import Agent, ContextCut
from tasks_app.replay import verification
from tests import strict_provider
from tests.provider import Received, Reply, openai_text
from tests.tasks_app.engine.conftest import Run
from tests.tasks_app.engine.test_compaction import History, template
from tools_app.contract import registry
from tools_app.models import ToolSetting

USED = ("file", "message", "recall")
WINDOW = 16_000


class Reader:
    """A model that writes one Go file and reads it repeatedly. Asked for a summary, it gives one."""

    def __init__(self, steps: int = 50) -> None:
        self.steps, self.done, self.summaries = steps, 0, 0
        self.summary = openai_text("We looked at main.go.")

    def __call__(self, received: Received) -> Reply:
        if "Sum it up" in received.body["messages"][0]["content"]:
            self.summaries += 1
            return self.summary
        self.done += 1
        if self.done == 1:
            return self._call(received, "file", action="write", path="main.go", content="package main\n" * 60)
        if self.done > self.steps:
            return self._call(received, "message", type="result", text="All read.")
        return self._call(received, "file", action="read", path="main.go", limit=100 + self.done)

    def _call(self, received: Received, name: str, **arguments: Any) -> Reply:
        return strict_provider.call(received, name, arguments, f"call_{self.done}")


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def agent(http_session: Any) -> Agent:
    unused = [tool.name for tool in registry.all_tools() if tool.name not in USED]
    ToolSetting.objects.bulk_create(ToolSetting(name=name, enabled=False) for name in unused)
    LogicalModel.objects.filter(pk=http_session.model_id).update(context_window=WINDOW, max_output_tokens=300)
    agent = Agent.objects.create(name="careful")
    http_session.agent = agent
    http_session.save()
    return agent


@pytest.fixture
def read_all(ask_http: Any, http_provider: Any, agent: Agent, reader: Reader) -> Any:
    """Run the reader with the current agent. Afterwards, the requests must match the record."""

    def run(**strategies: bool) -> Run:
        Agent.objects.update(**strategies)
        http_provider.replies = [strict_provider.strict(reader, window=WINDOW)]
        run: Run = ask_http("Read main.go.", max_iterations=100)
        assert run.advance().state == "done"
        assert not LLMLog.objects.filter(status="failed", purpose="step").exists()
        findings = verification.of_session(run.task.session)
        assert findings.is_whole, findings.mismatches
        return run

    return run


def cuts() -> list[dict[str, Any]]:
    return [json.loads(Blob.objects.get(pk=cut.blob).content) | {"seq": cut.seq} for cut in ContextCut.objects.all()]


def test_shortened_results_say_how_long_they_were_and_of_what_kind(read_all: Any, http_provider: Any) -> None:
    read_all(shorten_results=True)
    views = [view for cut in cuts() for view in cut["views"].values()]
    assert views
    assert "[succeeded: returned 1,199 bytes, 60 lines of Go; recall 6]" in views
    assert any("lines of Go; recall" in received.raw.decode() for received in http_provider.received)


def test_pruned_outputs_name_the_call_that_repeats_them(read_all: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(plan.pruned, "__defaults__", (1_000,))
    read_all(prune_outputs=True)
    kept = [view for cut in cuts() for view in cut["views"].values()]
    assert kept
    assert all(view.startswith("[pruned, read again by file read main.go, at most 1") for view in kept)


def test_views_are_stable_between_moves(read_all: Any, http_provider: Any) -> None:
    read_all(shorten_results=True)
    sent = [received.raw.removesuffix(b"]}") for received in http_provider.received]
    broken = sum(not after.startswith(before) for before, after in zip(sent, sent[1:], strict=False))
    assert broken <= ContextCut.objects.count()


def test_a_summary_is_an_entry_and_replaces_the_steps(read_all: Any, reader: Reader) -> None:
    run = read_all(summarise=True)
    said = [entry for entry in run.entries if entry.metadata.get("kind") == "summary"]
    assert len(said) == reader.summaries == LLMLog.objects.filter(purpose="summary").count() > 0
    assert said[0].context_type == "system_reminder"
    assert said[0].content.startswith("Of the entries 1 to ")
    assert said[0].content.endswith("We looked at main.go.")
    assert all("<step " not in cut["block"] and "<turns " in cut["block"] for cut in cuts())
    assert all("Read main.go." in cut["block"] for cut in cuts())


@pytest.mark.parametrize(
    "fault", [Reply(status=400, chunks=[b"no"], content_type="text/plain"), openai_text("")], ids=["refused", "empty"]
)
def test_without_a_summary_the_outline_is_used(read_all: Any, reader: Reader, fault: Reply) -> None:
    reader.summary = fault
    run = read_all(summarise=True)
    assert reader.summaries > 0
    assert not [entry for entry in run.entries if entry.metadata.get("kind") == "summary"]
    assert any("<step " in cut["block"] for cut in cuts())


def test_strategies_are_off_by_default(read_all: Any, reader: Reader) -> None:
    read_all(shorten_results=True, prune_outputs=True)
    assert reader.summaries == 0
    assert set(LLMLog.objects.values_list("purpose", flat=True)) == {"step"}


# --- the views themselves -----------------------------------------------------------------------------------------


def test_the_newest_four_turns_are_not_shortened() -> None:
    history = History().user("a")
    for number in range(10):
        history.step(path=f"{number}.go", result="package main\n" * 100)
    assert list(plan.shortened(history.entries)) == [3, 5, 7, 9, 11, 13]


def test_pruning_protects_the_newest_outputs() -> None:
    history = History().user("a")
    for number in range(10):
        history.step(path=f"{number}.go", result="x" * 300)
    assert sorted(plan.pruned(history.entries, template, protected=350)) == [3, 5, 7, 9, 11, 13, 15]


def test_short_results_are_unchanged() -> None:
    history = History().user("a")
    for _ in range(10):
        history.step(result="ok")
    assert plan.shortened(history.entries) == {}
    assert plan.pruned(history.entries, template, protected=0) == {}


@pytest.mark.parametrize(
    ("path", "content", "kind"),
    [
        ("src/main.go", "", "Go"),
        ("a.py", "", "Python"),
        ("README.md", "", "Markdown"),
        ("notes.txt", "", "text"),
        ("", '{"a": 1}', "JSON"),
        ("", "<!DOCTYPE html><p>", "HTML"),
        ("", "diff --git a b", "Diff"),
        ("", "#!/usr/bin/env python3\n", "Python"),
        ("unknown.thing", "some words", "text"),
        ("", "", "text"),
    ],
)
def test_the_kind_follows_from_the_name_or_the_beginning(path: str, content: str, kind: str) -> None:
    assert kind_of(path, content) == kind

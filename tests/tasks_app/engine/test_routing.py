"""Routing rules: a matching message gets a visible hint, and the rule's page shows the outcome."""

import time

import pytest

from tasks_app import services
from tasks_app.engine import routing
from tasks_app.models import FiredRule, RoutingRule
from tasks_app.replay import verification
from tasks_app.workspace.folders import workspace_of
from tests.tasks_app.engine.conftest import call, result, script
from tools_app.models import Skill


@pytest.fixture
def skill(transactional_db):
    return Skill.objects.create(name="sources", description="How we look for sources.", body="Two of each.")


def rule(**fields):
    given = {"name": "research", "pattern": "look up", "text": "Name your sources.", **fields}
    made = RoutingRule(**given)
    made.full_clean()
    made.save()
    return made


def hints(run):
    return [entry for entry in run.entries if entry.metadata.get("kind") == "routing"]


def test_a_matching_rule_adds_a_hint_at_the_start(play, skill):
    found = rule(target="skill", target_name="sources")
    run = play(call("message", type="info", text="I look it up."), call("skill", name="sources"), result())
    assert run.advance().state == "done"
    (hint,) = hints(run)
    assert hint.content.startswith(
        "This looks like “research”. Load the skill `sources` with `skill` before you begin."
    )
    assert (hint.in_context, hint.seq, hint.metadata["rules"]) == (True, 3, ["research"])
    assert found.outcome() == {"fired": 1, "done": 1, "failed": 0, "used": 1}
    assert verification.of_session(run.task.session).is_whole


def test_a_rule_that_does_not_match_adds_nothing(play):
    rule(pattern="weather\n+++")
    run = play(result())
    run.advance()
    assert hints(run) == []
    assert not FiredRule.objects.exists()


def test_a_rule_for_files_hints_once_while_the_model_sees_it(play, owner):
    rule(name="code with tests", match="files", pattern="tests/", text="Run them.")
    run = play(result())
    workspace_of(run.task.session).write_bytes("tests/test_a.py", b"")
    assert run.advance().state == "done"
    assert [hint.content.split("\n")[0] for hint in hints(run)] == ["This looks like “code with tests”. Run them."]
    run.task = services.post_message(run.task.session, owner, script(result())).task
    assert run.advance().state == "done"
    assert len(hints(run)) == 1
    assert FiredRule.objects.count() == 1


def test_targets_that_the_person_cannot_use_are_not_named(play):
    rule(pattern="script", target="skill", target_name="nowhere")
    rule(name="off", pattern="script", enabled=False)
    run = play(result())
    run.advance()
    assert hints(run) == []


def test_a_failed_task_that_ignored_the_hint_is_counted(play, skill):
    found = rule(pattern="script", target="skill", target_name="sources")
    play(call("file", action="list", path="."), max_iterations=1).advance()
    assert found.outcome() == {"fired": 1, "done": 0, "failed": 1, "used": 0}


@pytest.mark.parametrize(
    ("match", "pattern", "message", "fits"),
    [
        ("words", "look up", "Please look it UP.", True),
        ("words", "look up", "Please look.", False),
        ("words", "slide*\nreport", "Two reports, please", True),
        ("words", "slide*", "a slideshow of it", True),
        ("words", "研究", "请研究一下", True),
        ("words", "+++", "anything", False),
        ("regex", r"\bfix(es)? #\d+", "It FIXES #12", True),
        ("regex", r"^report$", "a report", False),
    ],
)
def test_words_and_expressions(db, match, pattern, message, fits):
    assert routing._matches(rule(match=match, pattern=pattern), message) is fits


def test_a_slow_expression_is_aborted_and_shown(db):
    slow = rule(match="regex", pattern=r"(a|aa)+$")
    began = time.monotonic()
    assert not routing._matches(slow, "a" * 4000 + "b")
    assert time.monotonic() - began < 5
    slow.refresh_from_db()
    assert "took over 0.1 s" in slow.fault


def test_rules_match_by_meaning_with_an_embedding_model(play, monkeypatch):
    rule(match="meaning", pattern="What do people say about this?\nFind out who wrote it", closeness=0.6)
    rule(name="code", match="meaning", pattern="Mend this program", closeness=0.6)
    monkeypatch.setattr(routing.vectors, "nearness", lambda unit, message, examples, run: [0.2, 0.7, 0.59])
    run = play(result())
    run.advance()
    assert [hint.metadata["rules"] for hint in hints(run)] == [["research"]]
    assert len(hints(run)) == 1


def test_rules_by_meaning_need_an_embedding_model(play):
    rule(match="meaning", pattern="Go")
    run = play(result())
    run.advance()
    assert hints(run) == []

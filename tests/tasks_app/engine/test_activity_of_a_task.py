"""The line above an agent's work: what ran, and what people rejected."""

import pytest

from tasks_app import services
from tasks_app.models import ContextEntry
from tasks_app.record.activity import item_groups
from tasks_app.record.transcript import items_of
from tests.tasks_app.engine.conftest import call, result
from tools_app.models import ToolSetting


@pytest.mark.parametrize(
    ("decisions", "line", "rejected"),
    [
        (["approved", "rejected"], "Ran echo 0", 1),
        (["rejected", "rejected"], "Called shell 2 times", 2),
        (["approved", "approved"], "Ran 2 commands", 0),
    ],
)
def test_rejected_calls_are_not_listed_as_run(play, owner, decisions, line, rejected):
    ToolSetting.objects.create(name="shell", approval="always")
    run = play(*(call("shell", command=f"echo {number}") for number in range(2)), result())
    for decision in decisions:
        services.decide(run.advance(), owner, decision)
    run.advance()
    session = run.task.session
    (activity,) = (
        group.activity
        for group in item_groups(items_of(session, ContextEntry.objects.in_session(session)))
        if group.activity and group.activity.line
    )
    assert (activity.line, activity.rejected, activity.amiss) == (line, rejected, 0)


def activity_of(run):
    entries = ContextEntry.objects.in_session(run.task.session)
    groups = item_groups(items_of(run.task.session, entries))
    return next(group.activity for group in groups if group.activity and group.activity.line)


def test_failed_commands_are_counted_as_failed(play):
    run = play(*(call("shell", command=f"echo {n}; exit {n % 2 * 2}") for n in range(6)), result())
    run.advance()
    activity = activity_of(run)
    assert (activity.line, activity.amiss) == ("Ran 6 commands", 3)
    answer = next(entry for entry in reversed(run.entries) if entry.context_type == "ai_message")
    assert [step["exit_code"] for step in answer.metadata["steps"][:3]] == [0, 2, 0]


def test_a_search_without_a_match_is_not_a_failure(play):
    run = play(call("shell", command="echo a | grep b"), call("shell", command="echo no; exit 1"), result())
    run.advance()
    assert activity_of(run).amiss == 1


def test_failed_creations_are_not_listed_as_created(play):
    run = play(call("slides", title="Bees", slides=[], path="bees.pptx"), result())
    run.advance()
    activity = activity_of(run)
    assert run.results()[0][0] == "failed"
    assert (activity.line, activity.amiss) == ("Called slides (bees.pptx)", 1)

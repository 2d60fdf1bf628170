"""The line over what an agent did says what ran, and what people did not let run."""

import pytest

from tasks_app import services
from tasks_app.models import ContextEntry
from tasks_app.transcript.activity import groups_of
from tasks_app.transcript.transcript import items_of
from tests.tasks_app.engine.conftest import call, result
from tools_app.models import ToolSetting


@pytest.mark.parametrize(
    ("decisions", "line", "rejected"),
    [
        (["approved", "rejected"], "Ran echo 0", 1),
        (["rejected", "rejected"], "Ran 2 commands", 2),
        (["approved", "approved"], "Ran 2 commands", 0),
    ],
)
def test_what_was_rejected_is_not_said_to_have_run(play, owner, decisions, line, rejected):
    ToolSetting.objects.create(name="shell", approval="always")
    run = play(*(call("shell", command=f"echo {number}") for number in range(2)), result())
    for decision in decisions:
        services.decide(run.advance(), owner, decision)
    run.advance()
    session = run.task.session
    (activity,) = (
        group.activity
        for group in groups_of(items_of(session, ContextEntry.objects.in_session(session)))
        if group.activity and group.activity.line
    )
    assert (activity.line, activity.rejected, activity.amiss) == (line, rejected, 0)

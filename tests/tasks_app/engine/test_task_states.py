"""The state machine of a task: its table is sound, and the one place that writes states enforces it."""

from itertools import product

import pytest

from tasks_app.models import ENDED, Task, TaskState
from tasks_app.models.task_state import SUCCESSORS, IllegalTransition, check_successors
from tasks_app.runtime import lease
from tests.tasks_app.engine.conftest import result

PAIRS = list(product(TaskState, TaskState))


def is_legal(before: TaskState, after: TaskState) -> bool:
    return after in SUCCESSORS[before] or (before == after and before not in ENDED)


@pytest.mark.parametrize(("before", "after"), [pair for pair in PAIRS if not is_legal(*pair)])
def test_an_illegal_transition_raises(before, after):
    with pytest.raises(IllegalTransition, match=f"is {before} and cannot become {after}"):
        Task(state=before).check_transition(after)


@pytest.mark.parametrize(("before", "after"), [pair for pair in PAIRS if is_legal(*pair)])
def test_a_legal_transition_does_not_raise(before, after):
    Task(state=before).check_transition(after)


@pytest.mark.parametrize(
    "table",
    [
        {state: after for state, after in SUCCESSORS.items() if state != TaskState.FINALIZING},
        SUCCESSORS | {TaskState.DONE: frozenset({TaskState.THINKING})},
        SUCCESSORS | {TaskState.THINKING: frozenset()},
        SUCCESSORS | {TaskState.FINALIZING: frozenset({TaskState.DONE})},
    ],
    ids=["a state is missing", "an end goes on", "a state leads nowhere", "a state cannot fail"],
)
def test_a_table_with_a_hole_stops_the_import(table):
    with pytest.raises(ValueError, match=r"state|task"):
        check_successors(table)


def test_the_row_is_guarded_as_well_as_the_object(play):
    run = play(result())
    held = lease.claim(run.task.pk)
    Task.objects.filter(pk=held.pk).update(state=TaskState.FINALIZING)  # without the holder's knowledge
    with pytest.raises(lease.StaleLease):
        lease.write(held, state=TaskState.THINKING)
    with pytest.raises(IllegalTransition):
        lease.write(held, state=TaskState.DONE)
    assert Task.objects.get(pk=held.pk).state == TaskState.FINALIZING

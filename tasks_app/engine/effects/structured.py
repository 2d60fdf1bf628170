"""A result whose data must fit a schema: what is wrong goes back to the model, so often and no more."""

from collections.abc import Sequence

from tasks_app.models.task import FailureCode
from tasks_app.run.context import TaskContext
from tasks_app.run.interrupts import Failed
from tools_app.contract.effects import Effect, MisfitData

MOST_MISFITS = 3


def count_misfits(context: TaskContext, effects: Sequence[Effect]) -> None:
    """Raises Failed at the last one; its result is staged and stands in the record all the same."""
    if not any(isinstance(effect, MisfitData) for effect in effects):
        return
    misfits = context.task.misfits + 1
    context.stage(misfits=misfits)
    if misfits >= MOST_MISFITS:
        raise Failed(
            FailureCode.STRUCTURAL_ERROR,
            f"The data did not fit the schema {misfits} times. Make the schema simpler, or choose another model.",
        )

"""The loop that advances a task. Each iteration has nine steps:

1. `preflight`: stops, messages, settings, limits, reminders
2. the open call, if there is one; else `think` asks the model for a reply
3. a reply without a call: remind the model, and end the iteration
4. a reply with several calls: only the first one runs
5. record the assistant's entry
6. `check_call`: arguments, rights, repetition, hooks, approval
7. `run_tool`: run the call, and let hooks check its result
8. record the result and its effects
9. a result for the person sets `finalizing`; the next iteration ends the task: `finalize`
"""

import logging
import time

from tasks_app.engine import check_call, preflight, run_tool, think
from tasks_app.engine.finalize import finalize
from tasks_app.models import Task, TaskState
from tasks_app.run import Interrupt, TaskContext
from tasks_app.runtime import process, suspects
from tasks_app.runtime.metrics import ITERATIONS

logger = logging.getLogger(__name__)
TIME_SLICE = 30.0  # seconds, after which another task of this worker runs


def run(context: TaskContext) -> None:
    """Advance a claimed task until it waits, ends, its time slice is over, or its worker drains.

    A suspect's slice also ends with its first result, as others wait for it.
    """
    deadline = time.monotonic() + TIME_SLICE
    was_suspect = suspects.is_suspect(context.task)
    while is_runnable(context.task) and time.monotonic() < deadline and not process.is_draining():
        advance(context)
        if was_suspect and not context.task.crashes:
            break
        logger.info("iteration %d, state %s", context.task.iteration, context.task.state)


def is_runnable(task: Task) -> bool:
    return task.is_active and task.waiting_for is None


def advance(context: TaskContext) -> None:
    """Run one iteration. An interrupt carries the entries to append and the next state."""
    try:
        step(context)
    except Interrupt as interrupt:
        fields = {"crashes": 0, **interrupt.fields}
        context.commit(*interrupt.entries, extra_write=interrupt.extra_write, **fields)


def step(context: TaskContext) -> None:
    """Finalize the task, or run one call: the open one or the model's next one."""
    if context.task.state == TaskState.FINALIZING:
        finalize(context)
        return
    ITERATIONS.inc()
    preflight.check(context)
    call = context.history.open_call() or think.think(context)
    cleared = check_call.check(context, call)
    result = run_tool.run(context, cleared)
    result = run_tool.filter_result(context, cleared, result)
    run_tool.record(context, cleared, result)

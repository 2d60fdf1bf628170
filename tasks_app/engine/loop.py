"""The loop. An iteration has nine steps:

1 preflight · 2 open call, or think · 3 no call: remind · 4 several calls: the first · 5 record the assistant's entry ·
6 before execution · 7 run the tool, let hooks see its result · 8 record it and its effects · 9 a result ends the task
"""

import time

from tasks_app.engine import output_hooks, preflight, run_tool, think
from tasks_app.engine.check_call import before_execution
from tasks_app.engine.finalize import finalize
from tasks_app.models import TaskState
from tasks_app.run.context import TaskContext
from tasks_app.run.interrupts import Interrupt

TIME_SLICE = 30.0  # seconds; then another task of this worker has its turn


def run(context: TaskContext) -> None:
    """Advances a claimed task until it waits, ends, or its time slice is over."""
    end = time.monotonic() + TIME_SLICE
    while is_runnable(context) and time.monotonic() < end:
        advance(context)


def is_runnable(context: TaskContext) -> bool:
    return context.task.is_active and context.task.waiting_for is None


def advance(context: TaskContext) -> None:
    """One iteration. Whatever interrupts it says what to append and what the next state is."""
    try:
        step(context)
    except Interrupt as interrupt:
        context.commit(*interrupt.entries, **interrupt.fields)


def step(context: TaskContext) -> None:
    """One tool call, from the model's mind to the record."""
    if context.task.state == TaskState.FINALIZING:
        finalize(context)
        return
    preflight.check(context)
    call = context.open_call() or think.think(context)
    cleared = before_execution(context, call)
    result = output_hooks.filter_result(context, cleared, run_tool.run(context, cleared))
    run_tool.record(context, cleared, result)

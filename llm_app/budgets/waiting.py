"""Waiting, in sight of the person, until the calls of others have left room in a limit."""

import asyncio
import random

from llm_app.budgets.allowance import Allowance
from llm_app.budgets.amounts import CallSize
from llm_app.call.llm_call import Observer, Runner

SHORTEST, LONGEST = 0.5, 4.0  # seconds between two looks: they grow, because hundreds may wait


def reserve(allowance: Allowance, size: CallSize, observer: Observer, run: Runner) -> None:
    """Raises BudgetExceeded, or whatever `run` raises when the wait is interrupted."""
    full = allowance.take(size)
    if full is None:
        return
    observer.waiting(full.sentence_when_reserved)
    pause = SHORTEST
    while full is not None:
        run(asyncio.sleep(pause * (0.5 + random.random())))  # noqa: S311  only so that they do not come all at once
        pause = min(2 * pause, LONGEST)
        full = allowance.still_full(size) or allowance.take(size)

"""Budgets: what a call may cost is reserved before it and settled after it, so concurrent calls overrun no limit.

A limit may be overrun by the last call that it lets through, and by no more: while a limit has room for all that is
reserved, calls run side by side; for what is left after that, they run one at a time.
"""

from llm_app.budgets.allowance import Allowance
from llm_app.budgets.amounts import AnswerMeter, CallSize, Unit
from llm_app.budgets.limits import Limit, Period, Scope
from llm_app.budgets.shares import Share, Tree
from llm_app.budgets.standing import Standing

__all__ = [
    "Allowance",
    "AnswerMeter",
    "CallSize",
    "Limit",
    "Period",
    "Scope",
    "Share",
    "Standing",
    "Tree",
    "Unit",
]

"""Budgets: the cost of a call is reserved before it and settled after it, so that concurrent calls respect the limits.

While a limit has room for all reservations, calls run in parallel. After that they run one at a time. So a limit is
exceeded at most by the last call that it allows.
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

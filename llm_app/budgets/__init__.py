"""Budgets: the cost of a call is reserved before it and settled after it, so that concurrent calls respect the limits.

While a limit has room for all reservations, calls run in parallel. After that they run one at a time. So a limit is
exceeded at most by the last call that it allows.
"""

from llm_app.budgets import counters, limits
from llm_app.budgets.allowance import Allowance
from llm_app.budgets.amounts import CallSize, Unit, UsageMeter, size_in_bytes
from llm_app.budgets.limits import BudgetScope, Limit, LimitState, Period
from llm_app.budgets.shares import BudgetTree, Share

__all__ = [
    "Allowance",
    "BudgetScope",
    "BudgetTree",
    "CallSize",
    "Limit",
    "LimitState",
    "Period",
    "Share",
    "Unit",
    "UsageMeter",
    "counters",
    "limits",
    "size_in_bytes",
]

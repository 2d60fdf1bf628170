"""Reservations of one caller: made before a call, settled after it."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from django.db import transaction

from llm_app.budgets import counters
from llm_app.budgets.amounts import BYTES_PER_TOKEN, Amount, CallSize
from llm_app.budgets.limits import Availability, Limit, LimitState, Period, limits_for_call
from llm_app.budgets.shares import BudgetTree
from llm_app.errors import BudgetExceeded
from llm_app.models import LLMLog, Reservation

_FRAMING = 1000  # bytes around the texts of new messages; the texts themselves count twice, for JSON escapes


class Allowance:
    """The budget reservations of one lease of a task, for one call at a time. Without limits it writes nothing.

    Reservations live as long as the lease is renewed, so a process that dies leaves nothing reserved. The cost of its
    last call is unknown and not counted.
    """

    def __init__(self, user_id: int | None, task_id: UUID | None = None, tree: BudgetTree | None = None) -> None:
        self._id = uuid4()
        self._user_id, self._task_id, self._tree = user_id, task_id, tree
        self._limits: Sequence[Limit] | None = None
        self._size: CallSize | None = None  # the size of the newest call
        self._reserved = Amount()
        self._reserved_in: Sequence[Limit] = ()
        self.limit_states: Sequence[LimitState] = ()  # the state of the limits at the newest reservation

    def refresh(self) -> None:
        """Read the limits for the next calls, with one query. Limits per task only apply inside a task."""
        tree = self._tree or (BudgetTree(top=self._task_id) if self._task_id else None)
        limits = tree.limits_of(self._user_id) if tree else limits_for_call(self._user_id, None)
        self._limits = tuple(limit for limit in limits if tree or limit.period is not Period.TASK)

    def reserve(self, size: CallSize) -> LimitState | None:
        """Reserve the cost of a call. Return the limit that other reservations fill; then nothing is reserved.

        Raises: BudgetExceeded.
        """
        if self._limits is None:
            self.refresh()
        self._size = size
        is_reserved = self._reserved_in == self._limits and self._reserved.covers(size.upper_bound)
        if not self._limits or is_reserved:
            return None
        with transaction.atomic():
            blocking = self._try_to_reserve(size.upper_bound)
        if blocking is not None and blocking.availability_for(size.upper_bound) is Availability.SPENT:
            raise BudgetExceeded(blocking.sentence_when_spent)
        return blocking

    def blocking_limit(self, size: CallSize) -> LimitState | None:
        """Return the limit that other reservations fill. This reads without locks and writes nothing."""
        self.refresh()
        blocking = _first_blocking(counters.limit_states(self._limits or ()), size.upper_bound)
        if blocking is None or blocking.availability_for(size.upper_bound) is not Availability.RESERVED:
            return None
        return blocking

    def reserve_ahead(self, more_bytes: int) -> None:
        """Reserve the cost of the next, longer call, if there is room. Call this inside the caller's transaction."""
        if self._limits and self._size is not None:
            self._try_to_reserve(self._size.grown(2 * more_bytes + _FRAMING).upper_bound)

    def settle(self, log: LLMLog) -> None:
        """Replace the reservation by the actual cost. Call this in the transaction that saves the log."""
        if self._reserved_in:
            counters.charge(self._reserved_in, Amount(tokens=log.input_tokens + log.output_tokens, usd=log.cost_usd))
            self.release()
        if self._size is not None:
            self._size = self._size.grown(log.output_tokens * BYTES_PER_TOKEN)

    def release(self) -> None:
        """Delete the reservation, if there is one."""
        if self._reserved_in:
            Reservation.objects.filter(allowance=self._id).delete()
            self._reserved_in = ()

    def _try_to_reserve(self, amount: Amount) -> LimitState | None:
        """Reserve an amount, or return the limit that blocks it.

        A waiting call holds no reservation; otherwise two calls could wait for each other.
        """
        limits = self._limits or ()
        if self._reserved_in:
            counters.lock(limits)  # counters before reservations, as in `settle`, which avoids deadlocks
        self.release()
        self.limit_states = counters.locked_limit_states(limits)
        blocking = _first_blocking(self.limit_states, amount)
        if blocking is None:
            counters.reserve(limits, amount, allowance=self._id, task_id=self._task_id)
            self._reserved, self._reserved_in = amount, limits
        return blocking


def _first_blocking(limit_states: Sequence[LimitState], amount: Amount) -> LimitState | None:
    """Return the first limit that is spent, else the first that other reservations fill."""
    for availability in (Availability.SPENT, Availability.RESERVED):
        for state in limit_states:
            if state.availability_for(amount) is availability:
                return state
    return None

"""What one caller may spend: reserved before a call, settled after it."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from django.db import transaction

from llm_app.budgets import counters
from llm_app.budgets.amounts import BYTES_PER_TOKEN, Amount, CallSize
from llm_app.budgets.limits import Limit, Period, binding_limits
from llm_app.budgets.shares import Tree
from llm_app.budgets.standing import Room, Standing
from llm_app.errors import BudgetExceeded
from llm_app.models import LLMLog, Reservation

_FRAMING = 1000  # bytes that new messages have around their texts; and these are taken twice, for what JSON escapes


class Allowance:
    """Belongs to one lease of a task, and has one call at a time. Where no limit binds, it writes nothing.

    What it has reserved lives as long as the lease is renewed, so a process that dies leaves nothing reserved; what its
    call has cost by then is unknown, and not counted.
    """

    def __init__(self, user_id: int | None, task_id: UUID | None = None, tree: Tree | None = None) -> None:
        self._id = uuid4()
        self._user_id, self._task_id, self._tree = user_id, task_id, tree
        self._limits: Sequence[Limit] | None = None
        self._size: CallSize | None = None  # of the newest call
        self._reserved = Amount()
        self._reserved_in: Sequence[Limit] = ()
        self.standings: Sequence[Standing] = ()  # how the limits stood at the newest reservation

    def refresh(self) -> None:
        """Reads again which limits bind, from the next call on: one query. Limits per task bind only in a task."""
        tree = self._tree or (Tree(top=self._task_id) if self._task_id else None)
        found = tree.limits_of(self._user_id) if tree else binding_limits(self._user_id, None)
        self._limits = tuple(limit for limit in found if tree or limit.period is not Period.TASK)

    def take(self, size: CallSize) -> Standing | None:
        """Reserves for a call. Returns the limit that others' reservations fill, if one does: then nothing is reserved.

        Raises BudgetExceeded.
        """
        if self._limits is None:
            self.refresh()
        self._size = size
        if not self._limits or self._has_reserved(size.upper_bound):
            return None
        with transaction.atomic():
            blocking = self._reserve(size.upper_bound)
        if blocking is not None and blocking.room_for(size.upper_bound) is Room.SPENT:
            raise BudgetExceeded(blocking.sentence_when_spent)
        return blocking

    def still_full(self, size: CallSize) -> Standing | None:
        """The limit that others' reservations fill, read without a lock and without a write."""
        self.refresh()
        blocking = _blocking(counters.standings(self._limits or ()), size.upper_bound)
        return blocking if blocking is not None and blocking.room_for(size.upper_bound) is Room.RESERVED else None

    def take_ahead(self, more_bytes: int) -> None:
        """Inside the caller's transaction: reserves for the next call, whose request has grown, if there is room."""
        if self._limits and self._size is not None:
            self._reserve(self._size.grown(2 * more_bytes + _FRAMING).upper_bound)

    def settle(self, log: LLMLog) -> None:
        """Inside the transaction that saves the log: what was reserved becomes what was spent."""
        if self._reserved_in:
            counters.charge(self._reserved_in, Amount(tokens=log.input_tokens + log.output_tokens, usd=log.cost_usd))
            self.release()
        if self._size is not None:
            self._size = self._size.grown(log.output_tokens * BYTES_PER_TOKEN)

    def release(self) -> None:
        """Gives back what is reserved, if anything is."""
        if self._reserved_in:
            Reservation.objects.filter(allowance=self._id).delete()
            self._reserved_in = ()

    def _has_reserved(self, amount: Amount) -> bool:
        return self._reserved_in == self._limits and self._reserved.covers(amount)

    def _reserve(self, amount: Amount) -> Standing | None:
        """Returns the limit that blocks, if any. A waiting call holds nothing, or two could wait for each other."""
        limits = self._limits or ()
        if self._reserved_in:
            counters.lock(limits)  # first: who settles has them, and waits for who renews the reservations
        self.release()
        self.standings = counters.locked_standings(limits)
        blocking = _blocking(self.standings, amount)
        if blocking is None:
            counters.reserve(limits, amount, allowance=self._id, task_id=self._task_id)
            self._reserved, self._reserved_in = amount, limits
        return blocking


def _blocking(standings: Sequence[Standing], amount: Amount) -> Standing | None:
    """The first limit that is spent, else the first that others' reservations fill."""
    for room in (Room.SPENT, Room.RESERVED):
        for standing in standings:
            if standing.room_for(amount) is room:
                return standing
    return None

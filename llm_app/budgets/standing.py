"""The state of a limit: spent, reserved and remaining amounts, and whether another call fits."""

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from llm_app.budgets.amounts import Amount
from llm_app.budgets.limits import Limit, Period


class Room(Enum):
    FREE = "free"
    RESERVED = "reserved"  # by other calls; there may be room after they end
    SPENT = "spent"


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """The state of a limit. `spent` and `reserved` are in the limit's unit."""

    limit: Limit
    spent: Decimal
    reserved: Decimal

    @property
    def left(self) -> Decimal:
        return max(Decimal(0), self.limit.most - self.spent - self.reserved)

    @property
    def share_spent(self) -> float:
        """Return the spent share, from 0 to 1, or more if the last call exceeded the limit."""
        return float(self.spent / self.limit.most) if self.limit.most else 1.0

    def room_for(self, wanted: Amount) -> Room:
        """Return whether a call has room. Without a known price it has room in every limit in USD.

        The cost is an upper estimate, so without other reservations the call can start. Thus a limit is used
        completely, and exceeded by at most one call.
        """
        cost = wanted.in_unit(self.limit.unit)
        if cost is None:
            return Room.FREE
        if self.spent >= self.limit.most:
            return Room.SPENT
        return Room.FREE if not self.reserved or cost <= self.left else Room.RESERVED

    @property
    def sentence_when_spent(self) -> str:
        """Return the sentence for the user whose task ends."""
        if self.limit.renews_at is None:
            return f"The {self.limit.words} is spent by this task. Write a message to go on in a new one."
        renewal = f"It is renewed on {self.limit.renews_at:%-d %B %Y} at 00:00 UTC"
        return f"The {self.limit.words} is spent. {renewal}; an administrator can raise it."

    @property
    def sentence_when_reserved(self) -> str:
        """Return the reason why a call waits."""
        others = "other calls of this task" if self.limit.period is Period.TASK else "calls that run at the moment"
        return f"Waiting: what is left of the {self.limit.words} is reserved for {others}."

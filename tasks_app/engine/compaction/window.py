"""How much of a model's window a conversation may fill, and how much is left after a move of the cut. Pure."""

from dataclasses import dataclass

from llm_app.call import Recipient

LEAST_RESERVE = 4_096  # tokens for the reply; in a small window a quarter of it
LEAST_WINDOW = 6_000
LEAST_USABLE = 1_000  # tokens for the conversation
GUARD_PERCENT = 90  # of the usable window: what is never passed


@dataclass(frozen=True, kw_only=True)
class Window:
    """All in tokens as the provider counts them. `head` are the system prompt and the tool list.

    `full_percent` says when the cut moves, `tail_percent` how much of the window the newest turns may keep then.
    """

    size: int
    head: int
    reserve: int
    full_percent: int = 80
    tail_percent: int = 15

    @property
    def usable(self) -> int:
        """What is left for the conversation."""
        return max(0, self.size - self.head - self.reserve)

    @property
    def is_too_small(self) -> bool:
        """Whether no task can work in it: because of its size, or because of what precedes the conversation."""
        return self.size < LEAST_WINDOW or self.usable < LEAST_USABLE

    @property
    def full(self) -> int:
        return self.usable * self.full_percent // 100

    @property
    def guard(self) -> int:
        return self.usable * GUARD_PERCENT // 100

    @property
    def room(self) -> int:
        """For block and tail after a move: the whole request is then half of the window.

        Where the head alone leaves too little for that, a quarter of what is usable.
        """
        return min(self.guard, max(self.size // 2 - self.head, self.usable // 4))

    @property
    def tail(self) -> int:
        return min(self.size * self.tail_percent // 100, self.room // 2)


def reserve_for(recipient: Recipient) -> int:
    """For the reply: what it may have, and not less than a model needs to think."""
    return max(recipient.max_tokens, min(LEAST_RESERVE, recipient.context_window // 4))

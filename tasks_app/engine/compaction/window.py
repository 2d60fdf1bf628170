"""The room in a model's window, and the measure of a request to a route."""

import math
from dataclasses import dataclass

from llm_app.call import TargetModel
from tasks_app.engine.prompt.build import PromptHead, build_for
from tasks_app.record import RequestMessages
from tasks_app.run import TaskContext
from tasks_app.run.usage import WindowFilling

LEAST_RESERVE = 4_096  # tokens for the reply; in a small window, a quarter of the window
LEAST_WINDOW = 6_000
LEAST_USABLE = 1_000  # tokens for the conversation
GUARD_PERCENT = 90  # of the usable window: a hard limit
PRUNE_AT_PERCENT = 85  # of the usable window, for agents whose outputs are pruned


@dataclass(frozen=True, kw_only=True)
class Window:
    """A model's window in tokens as the provider counts them.

    `head` is the size of the system prompt and the tool list.

    `full_percent` says when the cut moves, `tail_percent` how much of the window the newest turns can then keep.
    """

    size: int
    head: int
    reserve: int
    full_percent: int
    tail_percent: int

    @property
    def usable(self) -> int:
        """Return the tokens that are left for the conversation."""
        return max(0, self.size - self.head - self.reserve)

    @property
    def is_too_small(self) -> bool:
        """Return whether no task can work in it, because of its size or the size of the head."""
        return self.size < LEAST_WINDOW or self.usable < LEAST_USABLE

    @property
    def full(self) -> int:
        return self.usable * self.full_percent // 100

    @property
    def guard(self) -> int:
        return self.usable * GUARD_PERCENT // 100

    @property
    def room(self) -> int:
        """Return the limit for block and tail after a move: the entire request then takes half of the window.

        If the head alone leaves too little for that, it is a quarter of the usable tokens.
        """
        return min(self.guard, max(self.size // 2 - self.head, self.usable // 4))

    @property
    def tail(self) -> int:
        return min(self.size * self.tail_percent // 100, self.room // 2)


def reserve_for(recipient: TargetModel) -> int:
    """Return the tokens reserved for the reply: its limit, but at least what a model needs to think."""
    return max(recipient.max_tokens, min(LEAST_RESERVE, recipient.context_window // 4))


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A request to a route. `factor` converts our tokens to the provider's."""

    head: PromptHead
    conversation: RequestMessages
    window: Window
    factor: float
    estimated: int  # tokens of the entire request by our count

    @property
    def length(self) -> int:
        """Return the tokens of the conversation as the provider would count them."""
        return math.ceil(self.conversation.size * self.factor)

    @property
    def filling(self) -> WindowFilling:
        return WindowFilling(conversation=self.conversation, factor=self.factor, full=self.window.full)

    @property
    def is_full(self) -> bool:
        return self.length > self.window.full


def measure(context: TaskContext, recipient: TargetModel) -> Measured:
    head = build_for(context, recipient)
    conversation = context.history.conversation(recipient.context_window)
    factor = context.calibration.factor(recipient.model)
    prunes = context.settings.agent is not None and context.settings.agent.prune_outputs
    window = Window(
        size=recipient.context_window,
        head=math.ceil(head.tokens * factor),
        reserve=reserve_for(recipient),
        full_percent=PRUNE_AT_PERCENT if prunes else context.settings.limits.compact_at_percent,
        tail_percent=context.settings.limits.tail_percent,
    )
    estimated = head.tokens + conversation.size
    return Measured(head=head, conversation=conversation, window=window, factor=factor, estimated=estimated)

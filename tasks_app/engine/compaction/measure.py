"""How long the next request to a route would be, and how long it may be."""

import math
from dataclasses import dataclass

from llm_app.call import Recipient
from tasks_app.engine.compaction.window import Window, reserve_for
from tasks_app.engine.prompt.build import Head, build_for
from tasks_app.record import Conversation
from tasks_app.run import TaskContext

PRUNE_AT_PERCENT = 85  # of the usable window, where pruning comes first


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A request to a route. `factor` makes our tokens those of the provider."""

    head: Head
    conversation: Conversation
    window: Window
    factor: float
    estimated: int  # tokens of the whole by our own count

    @property
    def length(self) -> int:
        """Tokens of the conversation, as the provider would count them."""
        return math.ceil(self.conversation.size * self.factor)

    @property
    def is_full(self) -> bool:
        return self.length > self.window.full


def measure(context: TaskContext, recipient: Recipient) -> Measured:
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

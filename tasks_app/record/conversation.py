"""What models with one window see of a session: the block of its cut, and all that came after it."""

from llm_app.types import Message
from tasks_app.models import ContextEntry
from tasks_app.record import tokens
from tasks_app.record.cut import Cut


class Conversation:
    """`size` is that of its messages in tokens, before a provider has counted them."""

    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        self.messages = cut.messages()
        self.size = tokens.of_view(cut.block) if cut.block else 0

    def add(self, entry: ContextEntry, message: Message) -> None:
        """The next entry behind the cut; `message` is what it is without a view."""
        self.messages.append(self.cut.seen(message))
        view = self.cut.views.get(entry.seq)
        self.size += tokens.of_entry(entry) if view is None else tokens.of_view(view)

"""What replaces the beginning of a session in requests, and the messages that follow it. Pure.

A cut's text is kept as a blob, from which replay reads it again.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from llm_app.redaction import Redactor
from llm_app.types import GrowingMessages, Message
from tasks_app.models import ContextEntry
from tasks_app.record import tokens
from tasks_app.record.serialize import message_of

_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Cut:
    """`block` replaces all entries up to `seq`; `views` maps the seq of some later ones to what is sent instead.

    `masked_with` is the version of the secrets that were redacted in both.
    """

    seq: int = 0
    block: str = ""
    views: Mapping[int, str] = field(default_factory=dict)
    masked_with: str = ""

    @cached_property
    def text(self) -> str:
        """As it is kept: JSON of {block, views}; empty where nothing is cut."""
        if not self.block and not self.views:
            return ""
        views = {str(seq): self.views[seq] for seq in sorted(self.views)}
        return json.dumps({"block": self.block, "views": views}, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_text(cls, seq: int, text: str, masked_with: str = "") -> "Cut":
        """From its text. Raises ValueError."""
        if not text:
            return cls(seq=seq, masked_with=masked_with)
        kept = json.loads(text)
        views = {int(number): view for number, view in kept["views"].items()}
        return cls(seq=seq, block=kept["block"], views=views, masked_with=masked_with)

    def redacted(self, redactor: Redactor) -> "Cut":
        """Without the secrets of this moment."""
        views = {seq: redactor.redacted(view) for seq, view in self.views.items()}
        return replace(self, block=redactor.redacted(self.block), views=views, masked_with=redactor.version)

    def messages(self) -> list[Message]:
        """How a request begins: the block is words of a user; its `seq` is 0."""
        return [Message(role="user", content=self.block, masked_with=self.masked_with)] if self.block else []

    def seen(self, message: Message) -> Message:
        """The message of an entry behind the cut: by its view where it has one, then without its pictures."""
        view = self.views.get(message.seq)
        if view is None:
            return message
        return Message(
            role=message.role,
            content=view,
            tool_call_id=message.tool_call_id,
            seq=message.seq,
            masked_with=self.masked_with,
        )


def messages_of(cut: Cut, entries: Iterable[ContextEntry], blobs: Mapping[str, str] = _NONE) -> list[Message]:
    """The messages of a request. `entries` are those in the context, behind the cut, oldest first."""
    return cut.messages() + [cut.seen(message_of(entry, blobs)) for entry in entries]


class Conversation:
    """`size` is that of its messages in tokens, before a provider has counted them."""

    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        self.messages = GrowingMessages(cut.messages())
        self.size = tokens.view_tokens(cut.block) if cut.block else 0

    def add(self, entry: ContextEntry, message: Message) -> None:
        """The next entry behind the cut; `message` is what it is without a view."""
        self.messages.append(self.cut.seen(message))
        view = self.cut.views.get(entry.seq)
        self.size += tokens.entry_tokens(entry) if view is None else tokens.view_tokens(view)

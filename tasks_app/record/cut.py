"""The cut, which replaces the beginning of a session in requests, and the messages after it. Does no I/O.

The text of a cut is saved as a blob, so that replay can rebuild the same requests.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from llm_app.redaction import Redactor
from llm_app.types import GrowingMessages, Message
from tasks_app.models import ContextEntry
from tasks_app.record import tokens
from tasks_app.record.serialize import message_of

_NO_BLOBS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A replacement of old entries: `block` stands for all entries up to `seq`, `views` shorten some later ones.

    `views` maps the `seq` of an entry to the text that is sent instead. `left_out` are ranges of later entries, first
    and last, that are not sent at all. `masked_with` is the version of the secrets that were redacted in block and
    views.
    """

    seq: int = 0
    block: str = ""
    views: Mapping[int, str] = field(default_factory=dict)
    left_out: Sequence[tuple[int, int]] = ()
    masked_with: str = ""

    @cached_property
    def text(self) -> str:
        """The saved form: JSON of {block, views, left_out}, or an empty string if the cut replaces nothing.

        `left_out` only appears if it is set: earlier versions did not write it.
        """
        if not (self.block or self.views or self.left_out):
            return ""
        views = {str(seq): self.views[seq] for seq in sorted(self.views)}
        left_out = {"left_out": self.left_out} if self.left_out else {}
        fields = {"block": self.block, "views": views, **left_out}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_text(cls, seq: int, text: str, masked_with: str = "") -> "Cut":
        """Parse the saved form. Raises ValueError."""
        if not text:
            return cls(seq=seq, masked_with=masked_with)
        fields = json.loads(text)
        views = {int(number): view for number, view in fields["views"].items()}
        left_out = tuple((first, last) for first, last in fields.get("left_out", ()))
        return cls(seq=seq, block=fields["block"], views=views, left_out=left_out, masked_with=masked_with)

    def without(self, ranges: Iterable[tuple[int, int]]) -> "Cut":
        """Return a copy that leaves out these ranges of entries, as far as they follow it."""
        return replace(self, left_out=tuple((first, last) for first, last in ranges if last > self.seq))

    def leaves_out(self, seq: int) -> bool:
        return any(first <= seq <= last for first, last in self.left_out)

    def redacted(self, redactor: Redactor) -> "Cut":
        """Return a copy without the secrets that the redactor knows."""
        views = {seq: redactor.redacted(view) for seq, view in self.views.items()}
        return replace(self, block=redactor.redacted(self.block), views=views, masked_with=redactor.version)

    def messages(self) -> list[Message]:
        """Return the block as a user message with `seq` 0, or no message without a block."""
        return [Message(role="user", content=self.block, masked_with=self.masked_with)] if self.block else []

    def with_view(self, message: Message) -> Message:
        """Return the message of an entry after the cut: its view, without pictures, if the entry has one."""
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


def messages_of(cut: Cut, entries: Iterable[ContextEntry], blobs: Mapping[str, str] = _NO_BLOBS) -> list[Message]:
    """Return the messages of a request. `entries` are the ones in the context after the cut, oldest first."""
    visible = (entry for entry in entries if not cut.leaves_out(entry.seq))
    return cut.messages() + [cut.with_view(message_of(entry, blobs)) for entry in visible]


class RequestMessages:
    """The messages of a request. `size` estimates their tokens before a provider has counted them."""

    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        self.messages = GrowingMessages(cut.messages())
        self.size = tokens.view_tokens(cut.block) if cut.block else 0

    def add(self, entry: ContextEntry, message: Message) -> None:
        """Append the next entry after the cut. `message` is the entry's message without a view."""
        self.messages.append(self.cut.with_view(message))
        view = self.cut.views.get(entry.seq)
        self.size += tokens.entry_tokens(entry) if view is None else tokens.view_tokens(view)

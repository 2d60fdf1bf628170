"""A tool call without its result: the only durable waiting state. Asks, approvals and crashes go on from it."""

from collections.abc import Sequence
from dataclasses import dataclass

from llm_app.types import ToolCall
from tasks_app import reminders
from tasks_app.models import ContextEntry, ToolCallLog
from tasks_app.record.draft import Draft, result
from tasks_app.record.images import KeptPicture


@dataclass(frozen=True, kw_only=True)
class OpenCall:
    """`deferred` are the further calls of the same reply, verbatim: they are named after the result.

    `words` is what was said beside it.
    """

    call: ToolCall
    log: ToolCallLog
    deferred: Sequence[str] = ()
    words: str = ""

    def result(self, text: str, status: str, *, images: Sequence[KeptPicture] = (), **metadata: object) -> list[Draft]:
        """The one result of this call, and the reminder that belongs right after it."""
        drafts = [result(self.call.id, text, status, images, **metadata)]
        return [*drafts, reminders.deferred(self.deferred)] if self.deferred else drafts


def pending_call(entry: ContextEntry) -> OpenCall:
    """The open call that an entry of the record holds."""
    assert entry.call is not None
    return OpenCall(
        call=ToolCall(**entry.call),
        log=ToolCallLog.objects.select_related("approval").get(session_id=entry.session_id, call_id=entry.call["id"]),
        deferred=entry.metadata.get("deferred", ()),
        words=entry.content,
    )

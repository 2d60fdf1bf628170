"""An entry that has not been appended yet."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson

from llm_app.redaction import Redactor, has_escapes, redacted_call, redacted_thinking, texts_in
from llm_app.types import Thinking, ToolCall
from tasks_app.models import ContextType
from tasks_app.models.entry import CUT_TEXT
from tasks_app.record.images import StoredPicture

_ROLES = {
    ContextType.USER_MESSAGE: "user",
    ContextType.AI_MESSAGE: "assistant",
    ContextType.TOOL_CALL: "assistant",
    ContextType.NO_TOOL_CALL_RETRY: "assistant",
    ContextType.TOOL_RESULT: "tool",
    ContextType.SYSTEM_REMINDER: "user",
    ContextType.WORKFLOW_STEP: "user",
    ContextType.HANDOFF: "user",
    ContextType.STATUS_NOTICE: "system",
}


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The content of an entry to append.

    `is_cut` marks a call, or a text without one, that was cut at the output limit. `discarded` marks text of a failed
    attempt, which no model sees. `given_role` is set for imported history: user or assistant.
    """

    context_type: ContextType
    content: str = ""
    thinking: Thinking | None = None
    tool_call: ToolCall | None = None
    tool_call_id: str = ""
    images: Sequence[StoredPicture] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    is_cut: bool = False
    discarded: bool = False
    given_role: str = ""

    def redacted(self, redactor: Redactor) -> "Draft":
        """Return a copy without secrets, or the draft itself if a single check of its texts finds none."""
        call = self.tool_call
        texts = [self.content, self.tool_call_id, texts_in(self.metadata)]
        if call:
            texts += [call.id, call.name, call.arguments]
        has_parts = self.thinking or self.images or (call and has_escapes(call.arguments))
        if not has_parts and redactor.is_clean("\n".join(texts)):
            return self
        return replace(
            self,
            content=redactor.redacted(self.content),
            thinking=self.thinking and redacted_thinking(self.thinking, redactor),
            tool_call=self.tool_call and redacted_call(self.tool_call, redactor),
            tool_call_id=redactor.redacted(self.tool_call_id),
            images=[replace(image, path=redactor.redacted(image.path)) for image in self.images],
            metadata=redactor.redacted_json(self.metadata),
        )

    @property
    def role(self) -> str:
        return self.given_role or _ROLES[self.context_type]

    @property
    def in_context(self) -> bool:
        """Return whether models see the entry. Decided once, when it is appended."""
        return not self.discarded and self.context_type is not ContextType.STATUS_NOTICE

    @property
    def thinking_text(self) -> str:
        if not self.thinking:
            return ""
        fields = asdict(self.thinking)
        if not self.thinking.account:
            del fields["account"]
        return _json(fields)

    @property
    def tool_call_text(self) -> str:
        call = self.tool_call
        if call is None:
            return CUT_TEXT if self.is_cut else ""
        cut = {"cut": True} if self.is_cut else {}
        return _json({"id": call.id, "name": call.name, "arguments": call.arguments, **cut})

    @property
    def images_text(self) -> str:
        return _json([asdict(image) for image in self.images]) if self.images else ""


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a lone surrogate, or an integer of more than 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def notice(text: str, **metadata: Any) -> Draft:
    """Return a notice, which only people see."""
    return Draft(context_type=ContextType.STATUS_NOTICE, content=text, metadata=metadata)


def reminder(text: str, kind: str) -> Draft:
    """Return a reminder, which models and people see."""
    return Draft(context_type=ContextType.SYSTEM_REMINDER, content=text, metadata={"kind": kind})


def result(call_id: str, text: str, status: str, images: Sequence[StoredPicture] = (), **metadata: Any) -> Draft:
    """Return the result of a call. Each call has exactly one."""
    return Draft(
        context_type=ContextType.TOOL_RESULT,
        content=text,
        tool_call_id=call_id,
        images=images,
        metadata={"status": status, **metadata},
    )

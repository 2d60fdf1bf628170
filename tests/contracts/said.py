"""A model's reply in one turn, independent of a provider's format, and the same for protocols without native calls."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

XML_PROTOCOLS = ("anthropic_xml", "openai_xml")


def new_call_id() -> str:
    return f"call_{uuid4().hex[:12]}"


@dataclass(frozen=True, kw_only=True)
class Called:
    """A tool call. `arguments` is an object, or text as the model wrote it."""

    name: str
    arguments: Mapping[str, Any] | str
    id: str = field(default_factory=new_call_id)

    @property
    def text(self) -> str:
        """The arguments as JSON text."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, kw_only=True)
class Said:
    """The text, thinking and calls of one turn.

    cut: the reply ends at the output limit, in the middle of the last call's arguments.
    pause: the last fragment never arrives.
    status: the server answers with an error, such as 503.
    """

    words: str = ""
    thinking: str = ""
    calls: tuple[Called, ...] = ()
    cut: bool = False
    pause: bool = False
    status: int = 200

    def in_protocol(self, protocol: str) -> "Said":
        """Return calls as text if the protocol has no field for them. Such a reply has exactly one call."""
        if not self.calls or not (protocol == "json_schema" or protocol in XML_PROTOCOLS):
            return self
        call = _json(self.calls[0]) if protocol == "json_schema" else _xml(self.calls[0])
        if self.cut:
            call = call[: len(call) * 2 // 3]
        words = f"{self.words}\n{call}" if self.words and protocol in XML_PROTOCOLS else call
        return replace(self, words=words, calls=())


def call(name: str, /, **arguments: Any) -> Called:
    return Called(name=name, arguments=arguments)


def says(*calls: Called, **fields: Any) -> Said:
    """Return a turn with these calls."""
    return Said(calls=calls, **fields)


def result(text: str = "Done.") -> Said:
    return says(call("message", type="result", text=text))


def _json(called: Called) -> str:
    return f'{{"tool": {json.dumps(called.name)}, "arguments": {called.text}}}'


def _xml(called: Called) -> str:
    assert not isinstance(called.arguments, str), "a call in tags has its arguments one by one"
    written = {name: v if isinstance(v, str) else json.dumps(v) for name, v in called.arguments.items()}
    lines = [f'<parameter name="{name}">{value}</parameter>' for name, value in written.items()]
    return "\n".join(["<function_calls>", f'<invoke name="{called.name}">', *lines, "</invoke>", "</function_calls>"])

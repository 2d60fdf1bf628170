"""The one code fence that a model may put around its reply, and calls that cannot be read."""

import re
from collections.abc import Collection

_FENCE = "```"
_FIRST_LINE = re.compile(r"```[\w+-]*[ \t]*\r?\n")
_LONGEST = 100  # characters that are held back at most


def unfenced(text: str) -> str:
    """The text without white space around it and without a fence around all of it."""
    text = text.strip()
    first = _FIRST_LINE.match(text)
    if first and text.endswith(_FENCE) and len(text) >= first.end() + len(_FENCE):
        return text[first.end() : -len(_FENCE)].strip()
    return text


class Opening:
    """The beginning of a reply that streams, held back until it is known whether it may be a call.

    `starts`: with what a call begins. `is_call` is None while that is open.
    """

    def __init__(self, *starts: str) -> None:
        self._starts = starts
        self._held = ""
        self.is_call: bool | None = None

    def feed(self, piece: str) -> str:
        """All that was held back, once it is known (of a call without a fence's first line); until then nothing."""
        self._held += piece
        text = self._held.lstrip()
        if first := _FIRST_LINE.match(text):
            text = text[first.end() :].lstrip()
        if text.startswith(self._starts):
            self.is_call = True
            return text
        is_fence_line = text.startswith(_FENCE) and "\n" not in text
        is_open = is_fence_line or any(start.startswith(text) for start in (_FENCE, *self._starts))
        if is_open and len(self._held) < _LONGEST:
            return ""
        self.is_call = False
        return self._held


_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)


class Unreadable(Exception):
    """Says why, in a sentence for the model. It quotes only names from the reply: half a secret is not redacted."""


def no_such_tool(name: str, tools: Collection[str]) -> Unreadable:
    wanted = f" called {name!r}" if _NAME.fullmatch(name) else " of that name"
    return Unreadable(f"there is no tool{wanted}; the tools are: {', '.join(sorted(tools))}.")

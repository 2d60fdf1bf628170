"""A code fence around a reply, and the error for unreadable calls."""

import re
from collections.abc import Collection

_FENCE = "```"
_FIRST_LINE = re.compile(r"```[\w+-]*[ \t]*\r?\n")
_MAX_HELD = 100  # maximum of characters that are held back


def without_fence(text: str) -> str:
    """Return the text without surrounding white space and without a code fence around all of it."""
    text = text.strip()
    first_line = _FIRST_LINE.match(text)
    if first_line and text.endswith(_FENCE) and len(text) >= first_line.end() + len(_FENCE):
        return text[first_line.end() : -len(_FENCE)].strip()
    return text


def without_fence_line(text: str) -> str:
    """Return the beginning of a reply without surrounding white space and without the first line of its fence."""
    text = text.strip()
    first_line = _FIRST_LINE.match(text)
    return text[first_line.end() :].lstrip() if first_line else text


class ReplyStart:
    """The beginning of a streamed reply, held back until it is clear whether it may be a call.

    `starts` are the possible beginnings of a call. `is_call` is None until it is decided.
    """

    def __init__(self, *starts: str) -> None:
        self._starts = starts
        self._held = ""
        self.is_call: bool | None = None

    def feed(self, fragment: str) -> str:
        """Return the text that was held back once it is decided, else nothing.

        A call loses the first line of its code fence.
        """
        self._held += fragment
        text = self._held.lstrip()
        if first := _FIRST_LINE.match(text):
            text = text[first.end() :].lstrip()
        if text.startswith(self._starts):
            self.is_call = True
            return text
        is_fence_line = text.startswith(_FENCE) and "\n" not in text
        is_undecided = is_fence_line or any(start.startswith(text) for start in (_FENCE, *self._starts))
        if is_undecided and len(self._held) < _MAX_HELD:
            return ""
        self.is_call = False
        return self._held


_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)


class UnreadableCall(Exception):
    """A call that cannot be read. The message is a sentence for the model; it quotes only names from the reply.

    Other quotes could contain part of a secret, which is not redacted.
    """


def no_such_tool(name: str, tools: Collection[str]) -> UnreadableCall:
    named = f" called {name!r}" if _NAME.fullmatch(name) else " of that name"
    return UnreadableCall(f"there is no tool{named}; the tools are: {', '.join(sorted(tools))}.")

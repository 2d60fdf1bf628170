"""Thinking between tags in a model's content, separated while it streams."""

from collections.abc import Iterator

from llm_app.types import DeltaKind

TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
}


class ThinkTags:
    """A splitter of thinking and content. Only a tag at the very beginning opens thinking; later tags are text.

    `open_with` is the closing tag of thinking that the chat template has already opened.
    """

    def __init__(self, open_with: str = "") -> None:
        self._held = ""
        self._close = open_with
        self._decided = bool(open_with)
        self._just_closed = False

    def feed(self, text: str) -> Iterator[tuple[DeltaKind, str]]:
        """Yield fragments with their kind. A possible beginning of a tag is held back."""
        if self._decided and not self._close:
            yield from self._content(text)
            return
        self._held += text
        if not self._decided:
            self._decide()
        if self._close:
            yield from self._until_close()
        elif self._decided:
            yield from self.end()

    def _content(self, text: str) -> Iterator[tuple[DeltaKind, str]]:
        """Yield content. White space between thinking and content belongs to neither."""
        text = text.lstrip() if self._just_closed else text
        if text:
            self._just_closed = False
            yield DeltaKind.WORDS, text

    def end(self) -> Iterator[tuple[DeltaKind, str]]:
        """Yield the fragment that was held back, at the end of the stream."""
        if self._held:
            yield (DeltaKind.THINKING if self._close else DeltaKind.WORDS), self._held
            self._held = ""

    def _decide(self) -> None:
        start = self._held.lstrip()
        for tag, close in TAGS.items():
            if start.startswith(tag):
                self._held, self._close, self._decided = start[len(tag) :], close, True
                return
        self._decided = not any(tag.startswith(start) for tag in TAGS)

    def _until_close(self) -> Iterator[tuple[DeltaKind, str]]:
        thinking, tag, rest = self._held.partition(self._close)
        if tag:
            self._close, self._held = "", ""
            yield DeltaKind.THINKING, thinking
            self._just_closed = True
            yield from self._content(rest)
            return
        possible_ends = (self._close[:length] for length in range(len(self._close) - 1, 0, -1))
        self._held = next((end for end in possible_ends if thinking.endswith(end)), "")
        thinking = thinking.removesuffix(self._held)
        if thinking:
            yield DeltaKind.THINKING, thinking

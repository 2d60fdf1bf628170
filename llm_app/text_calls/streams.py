"""What a person may see of a reply's words while they arrive: of a call nothing but the text of a first `message`."""

from collections.abc import Iterator

from llm_app.text_calls.argument_stream import ArgumentStream
from llm_app.text_calls.fence import Opening
from llm_app.text_calls.xml_calls import XMLCallStream
from llm_app.types import Delta, DeltaKind

STREAMED_TOOL, STREAMED_ARGUMENT = "message", "text"


class PlainWords:
    """Words are words; a call that hides in them is found at the end."""

    def feed(self, piece: str) -> Iterator[Delta]:
        yield Delta(kind=DeltaKind.CONTENT, text=piece)


class CallWords(PlainWords):
    """Words that should be a call, which their beginning shows."""

    def __init__(self, *starts: str) -> None:
        self._opening = Opening(*starts)

    def feed(self, piece: str) -> Iterator[Delta]:
        if self._opening.is_call is None:
            piece = self._opening.feed(piece)
        if self._opening.is_call:
            if visible := self._visible(piece):
                yield Delta(kind=DeltaKind.TEXT, text=visible)
        elif piece:
            yield Delta(kind=DeltaKind.CONTENT, text=piece)

    def _visible(self, piece: str) -> str:
        raise NotImplementedError


class XMLWords(CallWords):
    def __init__(self) -> None:
        super().__init__("<function_calls>")
        self._stream = XMLCallStream(shown=(STREAMED_TOOL, STREAMED_ARGUMENT))

    def _visible(self, piece: str) -> str:
        return self._stream.feed(piece)


class JSONWords(CallWords):
    def __init__(self) -> None:
        super().__init__("{")
        self._tool = ArgumentStream("tool")
        self._text = ArgumentStream("arguments", STREAMED_ARGUMENT)
        self._name = ""
        self._is_shown: bool | None = None

    def _visible(self, piece: str) -> str:
        """The name comes first; a text that came before it is not shown."""
        visible = self._text.feed(piece)
        if self._is_shown is None:
            self._name += self._tool.feed(piece)
            self._is_shown = self._name == STREAMED_TOOL if visible else None
        return visible if self._is_shown else ""

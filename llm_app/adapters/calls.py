"""Native tool calls that arrive in pieces, and what of them a person may see while they do."""

from llm_app.text_calls.argument_stream import ArgumentStream
from llm_app.text_calls.pieces import Pieces
from llm_app.text_calls.streams import STREAMED_ARGUMENT, STREAMED_TOOL
from llm_app.types import ToolCall


class PartialCall:
    """One call in the making: its id and name come first, its arguments in fragments."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments = Pieces()
        self.visible: ArgumentStream | None = None


class CallAssembly:
    """The calls of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[PartialCall] = []
        self._places: dict[int, PartialCall] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, place: int, *, call_id: str = "", name: str = "", fragment: str = "", is_index: bool = True) -> str:
        """Takes a piece of the call at `place`; returns what became readable of a first `message` call's text.

        Not every server counts its calls: some give the same index to all, some none (then `place` is only the
        position in the list). Another name or another id therefore begins another call.
        """
        call = self._places.get(place)
        if call is None or _begins_another(call, call_id, name, is_index=is_index):
            call = self._places[place] = PartialCall()
            self._calls.append(call)
        call.id = call.id or call_id
        call.name = call.name or name
        return self._argument(call, fragment) if fragment else ""

    def _argument(self, call: PartialCall, fragment: str) -> str:
        if not call.arguments and call is self._calls[0] and call.name == STREAMED_TOOL:
            call.visible = ArgumentStream(STREAMED_ARGUMENT)
        fragment = call.arguments.add(fragment)
        return call.visible.feed(fragment) if call.visible else ""

    def finished(self) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(id=call.id, name=call.name, arguments=call.arguments.text().strip()) for call in self._calls
        )


def _begins_another(call: PartialCall, call_id: str, name: str, *, is_index: bool) -> bool:
    if not name or not call.name:
        return False
    has_other_id = bool(call_id and call.id and call_id != call.id)
    return name != call.name or has_other_id or not (call_id or is_index)

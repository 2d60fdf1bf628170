"""The output of a tool while it runs: shown to people, and the result of a call that is interrupted."""

from collections.abc import Callable

from tasks_app.runtime.live_stream import LiveStream
from tools_app.shell import render_terminal


class Progress:
    """A call's output so far. A tool that knows its progress better than its reported output sets `so_far`."""

    def __init__(self, stream: LiveStream) -> None:
        self.stream = stream
        self._so_far: Callable[[], str] | None = None

    def so_far(self, ask: Callable[[], str]) -> None:
        self._so_far = ask

    def text(self) -> str:
        """Return the output so far. Call it only after the tool has ended."""
        return self._so_far() if self._so_far else render_terminal(self.stream.text("tool_output"))

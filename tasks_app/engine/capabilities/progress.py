"""The output of a tool while it runs: shown to people, and the result of a call that is interrupted."""

import logging
from collections.abc import Callable

from tasks_app.runtime.live_stream import LiveStream
from tools_app.errors import ToolError
from tools_app.shell import render_terminal

logger = logging.getLogger(__name__)


class Progress:
    """A call's output so far. A tool that knows its progress better than its reported output sets `so_far`."""

    def __init__(self, stream: LiveStream) -> None:
        self.stream = stream
        self._so_far: Callable[[], str] | None = None

    def so_far(self, ask: Callable[[], str]) -> None:
        self._so_far = ask

    def text(self) -> str:
        """Return the output so far. Call it only after the tool has ended.

        A tool that cannot tell any more, such as one whose page has closed, still ends as interrupted.
        """
        try:
            if self._so_far:
                return self._so_far()
        except ToolError as error:
            return f"[{error}]"
        except Exception:
            logger.exception("a tool could not report its output so far")
        return render_terminal(self.stream.text("tool_output"))

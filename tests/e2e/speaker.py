"""A scripted model that pauses on demand, so that a test can look at text in the middle of a stream."""

import json
from typing import Any

from tests.provider import PAUSE, FakeProvider, Reply, openai_call, openai_chunk, openai_result, openai_text, sse

WORDS = " ".join(f"word{number}" for number in range(100))


class Speaker:
    """A model whose replies are queued by the test. `goes_on` ends a pause."""

    def __init__(self, provider: FakeProvider) -> None:
        self._provider = provider
        self.base_url, self.goes_on = provider.base_url, provider.go_on

    def forget(self) -> None:
        self._provider.replies = []

    def says(self, text: str, *, type: str = "result", pauses: int = 1, **arguments: Any) -> None:
        """Queue a message in many parts, with evenly spaced pauses."""
        call_id = f"call_{len(self._provider.replies)}"
        reply = openai_call("message", {"type": type, "text": text, **arguments}, call_id=call_id, pieces=40)
        for number in range(pauses, 0, -1):
            reply.chunks.insert(len(reply.chunks) * number // (pauses + 1), PAUSE)
        self._provider.replies.append(reply)

    def works(self, words: str, tool: str, **arguments: Any) -> None:
        """Queue words with a pause in the middle, and a call."""
        middle = len(words) // 2
        first, second = (sse(openai_chunk({"content": part})) for part in (words[:middle], words[middle:]))
        made = openai_call(tool, arguments, call_id=f"call_{len(self._provider.replies)}")
        self._provider.replies.append(Reply(chunks=[*first, PAUSE, *second, *made.chunks]))

    def chats(self, words: str) -> None:
        """Queue a reply without a call."""
        self._provider.replies.append(openai_text(words))

    def refuses(self, why: str) -> None:
        error = json.dumps({"error": {"message": why, "type": "invalid_request_error"}}).encode()
        self._provider.replies.append(Reply(status=400, content_type="application/json", chunks=[error]))

    def filters(self) -> None:
        """Queue an answer that a filter stopped."""
        self._provider.replies.append(Reply(chunks=sse(openai_chunk({}, "content_filter"), "[DONE]")))

    def thinks(self, thinking: str, then: str) -> None:
        """Queue a thought with a pause in the middle, and a result."""
        middle = len(thinking) // 2
        first, second = (
            sse(openai_chunk({"reasoning_content": part})) for part in (thinking[:middle], thinking[middle:])
        )
        self._provider.replies.append(Reply(chunks=[*first, PAUSE, *second, *openai_result(then).chunks]))

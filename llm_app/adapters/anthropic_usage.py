"""Tokens as Anthropic counts them."""

from llm_app.adapters.reading import count, dictionary
from llm_app.types import Usage


class AnthropicUsage:
    """Later figures replace earlier ones: they are cumulative, and come in two events."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, usage: object) -> Usage:
        """Takes what one event says; returns the whole so far.

        The protocol counts cached tokens beside the others; we count them as a part of the input.
        """
        self._counts |= {name: count(value) for name, value in dictionary(usage).items() if isinstance(value, int)}
        cached = self._counts.get("cache_read_input_tokens", 0)
        written = self._counts.get("cache_creation_input_tokens", 0)
        return Usage(
            input_tokens=count(self._counts.get("input_tokens", 0) + cached + written),
            cached_tokens=cached,
            cache_write_tokens=written,
            output_tokens=self._counts.get("output_tokens", 0),
        )

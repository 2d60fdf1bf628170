"""The cost of calls, and their upper bounds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from llm_app.pricing import prices
from llm_app.transport.sse import ServerEvent
from llm_app.types import TOKENS_PER_PICTURE, Delta, Message, Usage

BYTES_PER_TOKEN = 3  # an estimate: overestimates prose, about right for code and other scripts


class Unit(StrEnum):
    USD = "usd"
    TOKENS = "tokens"


@dataclass(frozen=True, kw_only=True, slots=True)
class Amount:
    """A number of tokens and their price. `usd` is None without a known price; then only limits on tokens apply."""

    tokens: int = 0
    usd: Decimal | None = None

    def in_unit(self, unit: Unit) -> Decimal | None:
        return Decimal(self.tokens) if unit is Unit.TOKENS else self.usd

    def covers(self, other: "Amount") -> bool:
        """Return whether `other` is not more than this amount, in tokens and in USD."""
        if other.usd is not None and (self.usd is None or self.usd < other.usd):
            return False
        return self.tokens >= other.tokens


def size_in_bytes(body: bytes, messages: Iterable[Message]) -> int:
    """Return the size of a request for estimates of its tokens: its pictures count by their tokens, not as text.

    `messages` are those of the request, with pictures only if it contains them.
    """
    size = len(body)
    for message in messages:
        for picture in message.pictures:
            size += TOKENS_PER_PICTURE * BYTES_PER_TOKEN - len(picture.data)
    return max(size, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class CallSize:
    """The size of a request in bytes (of `size_in_bytes`), the maximum of output tokens, and the price (USD per million
    tokens).
    """

    request_bytes: int
    max_tokens: int
    price: Mapping[str, Any]

    def grown(self, more_bytes: int) -> "CallSize":
        size = self.request_bytes + more_bytes
        return CallSize(request_bytes=size, max_tokens=self.max_tokens, price=self.price)

    @property
    def upper_bound(self) -> Amount:
        """Return the highest expected cost of the call."""
        usage = Usage(input_tokens=self.request_bytes // BYTES_PER_TOKEN, output_tokens=self.max_tokens)
        return Amount(tokens=usage.input_tokens + usage.output_tokens, usd=prices.cost(usage, self.price))


class UsageMeter:
    """A meter of arriving answers, for streams that break off and for providers that report no usage."""

    def __init__(self, request_bytes: int) -> None:
        self._request_bytes = request_bytes
        self._events = 0
        self._visible_bytes = 0  # bytes

    @property
    def has_begun(self) -> bool:
        """Return whether part of an answer arrived, so that the request was read."""
        return self._events > 0

    def event(self, event: ServerEvent) -> None:
        self._events += 1

    def delta(self, delta: Delta) -> None:
        text = delta.text
        self._visible_bytes += len(text) if text.isascii() else len(text.encode(errors="replace"))

    def usage(self, reported: Usage) -> Usage:
        """Complete the reported usage by an estimate: one token per event or per three bytes, whichever is more."""
        return Usage(
            input_tokens=reported.input_tokens or self._request_bytes // BYTES_PER_TOKEN,
            cached_tokens=reported.cached_tokens,
            cache_write_tokens=reported.cache_write_tokens,
            output_tokens=max(reported.output_tokens, self._events, self._visible_bytes // BYTES_PER_TOKEN),
            thinking_tokens=reported.thinking_tokens,
        )

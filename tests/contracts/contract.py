"""A provider's contract: rules that reject the same requests in the same words, and the format of its answers.

A rule is a function of the request's body and headers. Its docstring names the source of the rule.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.contracts.said import Said
from tests.provider import FakeProvider, Received, Reply


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An error response of the provider. `type`, `code` and `param` are fields of its body."""

    message: str
    status: int = 400
    type: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None


Rule = Callable[[Any, Mapping[str, str]], Refusal | None]


@dataclass(frozen=True, kw_only=True)
class Contract:
    """A contract. `answer` streams a reply to a body, `error` builds the body of a rejection.

    `protocols` are those of ours that the provider understands; `model` is one of its models.
    """

    name: str
    model: str
    protocols: tuple[str, ...]
    rules: tuple[Rule, ...]
    answer: Callable[[Said, Any], Reply]
    error: Callable[[Refusal], Reply]
    path: str = "/v1"  # path of the base address; the adapter adds the endpoint
    endpoint: str = "/v1/chat/completions"
    quirks: Mapping[str, Any] = field(default_factory=dict)
    takes_images: bool = True

    def refusal(self, received: Received) -> Refusal | None:
        """Return the rejection by the first broken rule."""
        if received.path != self.endpoint:
            return Refusal(status=404, message=f"Invalid URL (POST {received.path})")
        given = (rule(received.body, received.headers) for rule in self.rules)
        return next((refusal for refusal in given if refusal), None)


class StrictProvider:
    """A fake provider on an HTTP server: it rejects requests, or plays the next reply of `script`.

    `protocol` is the protocol of its clients: some protocols have calls in the text.
    """

    def __init__(self, contract: Contract, server: FakeProvider, protocol: str) -> None:
        self.contract, self.server, self.protocol = contract, server, protocol
        self.script: list[Said] = []
        self.refusals: list[Refusal] = []
        self.received: list[Received] = []
        server.replies = [self.answer]

    @property
    def base_url(self) -> str:
        return self.server.base_url.removesuffix("/v1") + self.contract.path

    def answer(self, received: Received) -> Reply:
        self.received.append(received)
        if refusal := self.contract.refusal(received):
            self.refusals.append(refusal)
            return self.contract.error(refusal)
        said = self.script.pop(0)
        if said.status != 200:
            return self.contract.error(Refusal(status=said.status, type="server_error", message="Try again later."))
        return self.contract.answer(said.in_protocol(self.protocol), received.body)

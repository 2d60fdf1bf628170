"""Providers, and the logical models that are routed to them."""

from typing import Annotated, Self

from pydantic import Field, JsonValue, SecretStr, StringConstraints, model_validator

from agentsite.configuration.section import Amount, Count, CountOrNone, Name, Number, Seconds, Section, WebAddress
from llm_app.models import ModelKind, Protocol


class Breaker(Section):
    """When a provider is left alone for a while."""

    window: Count = 20
    failure_ratio: Annotated[Number, Field(gt=0, le=1)] = 0.5
    min_calls: Count = 5
    cooldown_s: Seconds = 30


class Provider(Section):
    name: Name
    protocol: Protocol
    base_url: WebAddress = ""
    api_key: SecretStr = SecretStr("")
    litellm_provider: Annotated[str, StringConstraints(max_length=50)] = ""
    timeout_s: Seconds = 120
    total_timeout_s: Seconds = 600
    breaker: Breaker = Breaker()
    enabled: bool = True

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.protocol == Protocol.LITELLM and not self.litellm_provider:
            raise ValueError("litellm_provider is missing: the protocol litellm needs it")
        if self.protocol not in (Protocol.LITELLM, Protocol.SCRIPTED) and not self.base_url:
            raise ValueError(f"base_url is missing: the protocol {self.protocol.value} needs it")
        return self


class Price(Section):
    """USD per million tokens."""

    input: Amount
    cached_input: Amount = 0
    output: Amount


class Route(Section):
    provider: Name
    model: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    priority: Annotated[Count, Field(le=32_767)] | None = None  # the place in the list
    price: Price | None = None
    temperature: Annotated[Amount, Field(le=2)] | None = None
    max_tokens: Count | None = None
    thinking_budget: CountOrNone | None = None
    context_window: Count | None = None
    takes_images: bool = False
    extra_body: dict[str, JsonValue] = {}
    extra_headers: dict[str, str] = {}
    quirks: dict[str, JsonValue] = {}


class LogicalModel(Section):
    name: Name
    kind: ModelKind = ModelKind.TEXT
    context_window: Count = 128_000
    max_output_tokens: Count = 8_192
    roles: list[Name] = []
    providers: list[Route] = []

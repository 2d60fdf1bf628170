"""The section `tracing`: the destinations of the events of tasks."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Self

from pydantic import Field, SecretStr, StringConstraints, model_validator

from agentsite.configuration.section import ConfigurationSection, WebAddress, default_of, save_changes
from llm_app.models import ServiceKey
from tasks_app.models import EventType, SinkKind, TraceSink

SinkName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]+$", max_length=100)]


class SinkSection(ConfigurationSection):
    name: SinkName
    kind: SinkKind
    url: WebAddress = ""
    key: SecretStr = SecretStr("")  # signs the requests of http; the header Authorization for otlp
    events: list[EventType] = []  # none: all
    content: bool = False
    max_bytes: Annotated[int, Field(ge=10_000, le=2**63 - 1)] = default_of(TraceSink, "max_bytes")
    enabled: bool = True

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        if self.kind != SinkKind.FILE and not self.url:
            raise ValueError(f"url is missing: a sink of the kind {self.kind} needs it")
        if self.kind == SinkKind.HTTP and not self.key.get_secret_value():
            raise ValueError("key is missing: the requests are signed with it")
        return self


def apply_tracing(sinks: Sequence[SinkSection]) -> Iterator[str]:
    for item in sinks:
        row = TraceSink.objects.filter(name=item.name).first() or TraceSink(name=item.name)
        values = item.values_in_file("name", "key", "events")
        if "events" in item.model_fields_set:
            values["events"] = [event.value for event in item.events]
        yield from save_changes(row, values, f"trace sink {item.name}")
        key = item.key.get_secret_value()
        if key and ServiceKey.store(row.key_name, key):
            yield f"trace sink {item.name}: key changed"

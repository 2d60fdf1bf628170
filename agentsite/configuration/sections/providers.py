from collections.abc import Iterator, Sequence

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from llm_app.breaker.changes import give_new_chance
from llm_app.models import Provider


def apply(providers: Sequence[schema.Provider]) -> Iterator[str]:
    for item in providers:
        values = item.given("name", "api_key", "breaker")
        if "api_key" in item.model_fields_set:
            values["api_key"] = item.api_key.get_secret_value()
        if "breaker" in item.model_fields_set:
            values["breaker"] = item.breaker.model_dump(exclude_unset=True)
        row = Provider.objects.filter(name=item.name).first() or Provider(name=item.name)
        changed = list(put(row, values, f"provider {item.name}"))
        if changed:
            give_new_chance(row)
        yield from changed

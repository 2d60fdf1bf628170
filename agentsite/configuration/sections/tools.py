from collections.abc import Iterator, Sequence

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from tools_app.models import ToolSetting


def apply(tools: Sequence[schema.Tool]) -> Iterator[str]:
    for item in tools:
        values = item.given("name", "danger")
        if "danger" in item.model_fields_set:
            values["danger"] = item.danger or ""
        row = ToolSetting.objects.filter(name=item.name).first() or ToolSetting(name=item.name)
        yield from put(row, values, f"tool {item.name}")

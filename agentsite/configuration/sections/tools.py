from collections.abc import Iterator, Sequence

from django.contrib.auth.models import Group

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from tools_app.models import ToolSetting


def apply(tools: Sequence[schema.Tool]) -> Iterator[str]:
    for item in tools:
        values = item.given("name", "danger", "approvers")
        if "danger" in item.model_fields_set:
            values["danger"] = item.danger or ""
        if "approvers" in item.model_fields_set:
            values["approvers"] = Group.objects.filter(name=item.approvers).first()
        row = ToolSetting.objects.filter(name=item.name).first() or ToolSetting(name=item.name)
        yield from put(row, values, f"tool {item.name}")

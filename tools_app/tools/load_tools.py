"""Makes the tools of a group visible: where there are many, a model sees them only when it asks."""

from pydantic import Field

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool
from tools_app.contract.effects import LoadGroup
from tools_app.errors import ToolError


class LoadToolsArguments(Arguments):
    group: str = Field(min_length=1, description="The name of a group from the section tool_groups.")


@tool(
    name="load_tools",
    description="""Makes the tools of a group usable from your next reply on. The section tool_groups names the groups
    and what they are good for.""",
    arguments=LoadToolsArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="load_tools {group}",
    visible=lambda visibility: visibility.has_groups,
)
async def load_tools(arguments: LoadToolsArguments, context: ToolContext) -> ToolResult:
    names = context.groups.get(arguments.group)
    if not names:
        known = ", ".join(context.groups) or "none"
        raise ToolError(f"There is no group called {arguments.group!r}. The groups are: {known}.")
    return ToolResult(content=f"Usable now: {', '.join(names)}.", effects=[LoadGroup(group=arguments.group)])

"""The tool `load_tools`, which shows and hides groups of tools. It keeps long tool lists out of the prompt."""

from pydantic import Field

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool
from tools_app.contract.effects import LoadGroup, UnloadGroup
from tools_app.errors import ToolError


class LoadToolsArguments(Arguments):
    group: str = Field(min_length=1, description="The name of a group.")
    unload: bool = Field(False, description="Hides them again.")


@tool(
    name="load_tools",
    description="""Makes the tools of a group usable from your next reply on. The section tool_groups describes the
    groups.""",
    arguments=LoadToolsArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="load_tools {group}[ unload={unload}]",
    activity={"": "loaded the tools {group}|loaded # groups of tools"},
    visible=lambda visibility: visibility.has_groups,
)
async def load_tools(arguments: LoadToolsArguments, context: ToolContext) -> ToolResult:
    names = context.groups.get(arguments.group)
    if not names:
        groups = ", ".join(context.groups) or "none"
        raise ToolError(f"There is no group called {arguments.group!r}. The groups are: {groups}.")
    if arguments.unload:
        text = f"Unloaded: {', '.join(names)}. Load the group again when you need them."
        return ToolResult(content=text, effects=[UnloadGroup(group=arguments.group)])
    return ToolResult(content=f"Usable now: {', '.join(names)}.", effects=[LoadGroup(group=arguments.group)])

"""The tool `load_tools`, which shows and hides groups of tools. It keeps long tool lists out of the prompt."""

from collections.abc import Sequence

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
    group, selected = _group_and_tools(arguments.group, context)
    names = context.groups[group]
    if arguments.unload:
        text = f"Unloaded: {', '.join(names)}. Load the group again when you need them."
        return ToolResult(content=text, effects=[UnloadGroup(group=group, tools=names)])
    _check_limit(selected or names, group, context)
    text = f"Usable now: {', '.join(selected or names)}."
    return ToolResult(content=text, effects=[LoadGroup(group=group, tools=selected)])


def _group_and_tools(argument: str, context: ToolContext) -> tuple[str, Sequence[str]]:
    """Return a group, and the tools of it if the argument is a list of their names instead of the group's.

    A refusal of a large group asks for such a list. The description does not mention it, as few groups are large.

    Raises: ToolError.
    """
    if context.groups.get(argument):
        return argument, ()
    selected = [name.strip() for name in argument.split(",")]
    for group, names in context.groups.items():
        if {*selected} <= {*names}:
            return group, selected
    groups = ", ".join(context.groups) or "none"
    raise ToolError(f"There is no group called {argument!r}. The groups are: {groups}.")


def _check_limit(wanted: Sequence[str], group: str, context: ToolContext) -> None:
    """Refuse tools that the model's provider would refuse in each later request.

    Raises: ToolError.
    """
    limit, shown, names = context.tool_limit, {*context.shown_tools}, context.groups[group]
    room = max((limit or 0) - len(shown), 0)
    if limit is None or len({*wanted} - shown) <= room:
        return
    others = [name for name, tools in context.groups.items() if name != group and {*tools} & shown]
    sentences = [
        f"Nothing was loaded. The group {group!r} has {len(names)} tools, and this model takes at most {limit} tools, "
        f"of which {len(shown)} are in use: {room} more fit."
    ]
    if room:
        sentences.append(
            "Call load_tools again with the names of those that you need, separated by commas, as `group`."
        )
    if others:
        sentences.append(f"To make room, unload a group that you no longer need: {', '.join(others)}.")
    raise ToolError(" ".join([*sentences, f"The tools of the group: {', '.join(names)}."]))

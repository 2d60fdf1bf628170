"""The tool `load_tools`, which shows and hides groups of tools. It keeps long tool lists out of the prompt."""

from collections.abc import Sequence, Set
from difflib import get_close_matches

from pydantic import Field

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool
from tools_app.contract.effects import LoadGroup, UnloadGroup
from tools_app.errors import ToolError


class LoadToolsArguments(Arguments):
    group: str = Field(min_length=1, description="A group, or names of its tools.")
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
        return _unloaded(group, selected or names, context)
    _check_limit(group, selected, context)
    text = f"Usable now: {', '.join(selected or names)}."
    return ToolResult(content=text, effects=[LoadGroup(group=group, tools=selected, announced=selected or names)])


def _unloaded(group: str, unloaded: Sequence[str], context: ToolContext) -> ToolResult:
    names, shown = context.groups[group], {*context.shown_tools}
    kept = [name for name in names if name in shown and name not in unloaded]
    text = f"Unloaded: {', '.join(unloaded)}. Load them again when you need them."
    return ToolResult(content=text, effects=[UnloadGroup(group=group, tools=names, kept=kept)])


def _group_and_tools(argument: str, context: ToolContext) -> tuple[str, Sequence[str]]:
    """Return a group, and the tools of it if the argument is a list of their names instead of the group's.

    The names may lack the prefix of their group.

    Raises: ToolError, which tells the names that are wrong.
    """
    if context.groups.get(argument):
        return argument, ()
    given = [name.strip() for name in argument.split(",") if name.strip()]
    candidates = {group: _with_prefix(given, group, names) for group, names in context.groups.items()}
    missing = {
        group: [name for name in found if name not in context.groups[group]] for group, found in candidates.items()
    }
    group = min(missing, key=lambda name: len(missing[name]), default="")
    if group and not missing[group]:
        return group, candidates[group]
    if group and len(missing[group]) < len(given):
        unknown = _with_nearest(missing[group], context.groups[group])
        raise ToolError(f"Nothing was changed: the group {group} has no {unknown}. The others are right.")
    raise ToolError(f"There is no group called {argument!r}. The groups are: {', '.join(context.groups) or 'none'}.")


def _with_prefix(given: Sequence[str], group: str, names: Sequence[str]) -> list[str]:
    return [name if name in names or f"{group}__{name}" not in names else f"{group}__{name}" for name in given]


def _with_nearest(missing: Sequence[str], names: Sequence[str]) -> str:
    """Return names that the group does not have, each with the nearest name that it has."""
    hints = []
    for name in missing:
        nearest = get_close_matches(name, names, n=1)
        hints.append(f"{name} (did you mean {nearest[0]}?)" if nearest else name)
    return ", ".join(hints)


def _check_limit(group: str, selected: Sequence[str], context: ToolContext) -> None:
    """Refuse tools that the model's provider would refuse in each later request.

    Raises: ToolError.
    """
    limit, shown, names = context.tool_limit, {*context.shown_tools}, context.groups[group]
    room = max((limit or 0) - len(shown), 0)
    if limit is None or len({*(selected or names)} - shown) <= room:
        return
    if not room:
        raise ToolError(
            f"Nothing was loaded: this model takes at most {limit} tools, and all {limit} are in use. To make room, "
            f"call load_tools with unload, and a group or tools that you no longer need{_loaded(context, shown)}."
        )
    if selected:
        raise ToolError(f"Nothing was loaded: you named {len(selected)} tools, and {room} more fit. Name fewer.")
    raise ToolError(
        f"Nothing was loaded: the group {group!r} has {len(names)} tools, and this model takes at most {limit} tools: "
        f"{room} more fit. Call load_tools again with the names of those that you need, separated by commas, as "
        f"`group`. They are, in alphabetical order: {', '.join(sorted(names))}."
    )


def _loaded(context: ToolContext, shown: Set[str]) -> str:
    """Return how many tools of which groups are loaded, in parentheses."""
    counts = {group: len(shown & {*names}) for group, names in context.groups.items()}
    loaded = ", ".join(f"{count} of {group}" for group, count in counts.items() if count)
    return f" ({loaded})" if loaded else ""

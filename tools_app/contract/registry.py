"""The tools that this server has. A tool registers itself when its module is imported."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tools_app.contract.base import Arguments, Danger, Handler, Judgement, Target, ToolDefinition, always
from tools_app.contract.visibility import ToolVisibility
from tools_app.errors import UnknownTool
from tools_app.files import Workspace

NO_ACTIVITY: Mapping[str, str] = {}
_tools: dict[str, ToolDefinition] = {}
_NAME = re.compile(r"(?!.*__)[A-Za-z0-9_-]{1,64}")  # server__tool is a name of an MCP server's tool
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_FIELD = re.compile(r"\{(\w+)\}")


def tool(
    *,
    name: str,
    description: str,
    arguments: type[Arguments],
    danger: Danger,
    judge: Callable[[Any, Workspace], Judgement] | None = None,
    target: Target,
    compact_template: str = "",
    activity: Mapping[str, str] = NO_ACTIVITY,
    loop_exempt: bool = False,
    takes_secrets: bool = False,
    visible: Callable[[ToolVisibility], bool] = always,
    listed: Callable[[ToolVisibility], bool] = always,
    shown: Callable[[ToolVisibility], type[Arguments]] | None = None,
    extended: Callable[[dict[str, Any], ToolVisibility], dict[str, Any]] | None = None,
) -> Callable[[Handler], Handler]:
    """Makes the decorated function, a coroutine function if it waits for anything, the handler of a tool."""

    def register(handler: Handler) -> Handler:
        if name in _tools:
            raise ValueError(f"two tools are called {name!r}")
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a tool's name: letters, digits, - and single _, at most 64")
        _tools[name] = ToolDefinition(
            name=name,
            description=" ".join(description.split()),
            arguments=arguments,
            handler=handler,
            danger=danger,
            judge=judge,
            target=target,
            compact_template=compact_template,
            activity=activity,
            loop_exempt=loop_exempt,
            takes_secrets=takes_secrets,
            visible=visible,
            listed=listed,
            shown=shown,
            extended=extended,
        )
        return handler

    return register


@contextmanager
def all_or_nothing() -> Iterator[Callable[[], list[str]]]:
    """If the block raises, the tools that it registered are removed. The value returns their names so far."""
    before = dict(_tools)
    try:
        yield lambda: [name for name in _tools if name not in before]
    except BaseException:
        _tools.clear()
        _tools.update(before)
        raise


def get(name: str) -> ToolDefinition:
    """Raises UnknownTool."""
    if name not in _tools:
        raise UnknownTool(f"There is no tool called {name!r}.")
    return _tools[name]


def all_tools() -> list[ToolDefinition]:
    return list(_tools.values())


def compact_line(name: str, arguments: Mapping[str, Any]) -> str:
    """A template names arguments in braces; a part in brackets goes where one of its arguments is missing.

    A tool without a template, or one that is gone, is its name and its arguments.
    """
    try:
        template = get(name).compact_template
    except UnknownTool:
        template = ""
    if not template:
        return " ".join([name, *(f"{key}={value}" for key, value in arguments.items())])
    return filled_template(template, arguments)


def filled_template(template: str, arguments: Mapping[str, Any]) -> str:
    """A template of an activity, or of a compact line, with the arguments of one call."""
    return _filled(_OPTIONAL.sub(lambda part: _optional(part[1], arguments), template), arguments)


def _optional(part: str, arguments: Mapping[str, Any]) -> str:
    is_given = all(arguments.get(name) is not None for name in _FIELD.findall(part))
    return part if is_given else ""


def _filled(template: str, arguments: Mapping[str, Any]) -> str:
    return _FIELD.sub(lambda field: _said(arguments.get(field[1], "")), template)


def _said(value: Any) -> str:
    """A list by its members, and what has a title by that."""
    if isinstance(value, list):
        return ", ".join(map(_said, value))
    return str(value.get("title", value)) if isinstance(value, dict) else str(value)

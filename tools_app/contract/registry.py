"""The registry of this server's tools. A tool registers itself when its module is imported."""

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tools_app.contract.base import (
    Arguments,
    Danger,
    Handler,
    Judgement,
    Target,
    ToolDefinition,
    ToolVisibility,
    always,
)
from tools_app.contract.clear_arguments import Synonyms, clarified
from tools_app.errors import UnknownTool
from tools_app.files import Workspace

logger = logging.getLogger(__name__)
NO_ACTIVITY: Mapping[str, str] = {}
NO_SYNONYMS = Synonyms()
PLUGIN_GROUP = "agentsite.tools"  # entry points of other packages, each a module that registers one or more tools
_tools: dict[str, ToolDefinition] = {}
_plugin_errors: dict[str, str] = {}
_NAME = re.compile(r"(?!.*__)[A-Za-z0-9_-]{1,64}")  # server__tool is reserved for the tools of MCP servers
# Tools of other harnesses with more than one form, by the tool that does the same here.
_FOREIGN_TOOLS: Mapping[str, frozenset[str]] = {
    "`file` with the action read": frozenset(
        ["readfile", "read", "view", "viewfile", "cat", "openfile", "notebookread"]
    ),
    "`file` with the action write": frozenset(["writefile", "write", "createfile", "savefile", "writetofile"]),
    "`file` with the action edit": frozenset(
        [
            "editfile",
            "edit",
            "strreplace",
            "strreplaceeditor",
            "strreplacebasededittool",
            "searchreplace",
            "replaceinfile",
        ]
    ),
    "`file` with the action patch": frozenset(["applypatch", "applydiff", "multiedit"]),
    "`file` with the action list": frozenset(["ls", "listdir", "listfiles", "listdirectory", "listfolder"]),
    "`match`": frozenset(["grep", "glob", "find", "searchfiles", "grepsearch", "filesearch", "codebasesearch"]),
    "`plan`": frozenset(["todowrite", "todoread", "updateplan", "todo", "managetodolist"]),
    "`fetch_url`": frozenset(["webfetch", "fetch", "fetchurl", "openurl", "readurl", "curl"]),
    "`search`": frozenset(["websearch", "googlesearch", "searchweb"]),
    "`message` with the type result": frozenset(["finish", "submit", "attemptcompletion", "finalanswer", "done"]),
    "`message` with the type ask": frozenset(["askuser", "askfollowupquestion", "askuserquestion"]),
    "`shell` with Python": frozenset(["python", "executepython", "pythonexec", "codeinterpreter", "ipython"]),
}
_NAMESPACE = re.compile(r"(functions?|default_api|tools?)[.:]")  # of OpenAI and Gemini
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
    accompanies: str = "",
    shows_plan_step: bool = False,
    shown: Callable[[ToolVisibility], type[Arguments]] | None = None,
    extended: Callable[[dict[str, Any], ToolVisibility], dict[str, Any]] | None = None,
    synonyms: Synonyms = NO_SYNONYMS,
    other_names: Sequence[str] = (),
) -> Callable[[Handler], Handler]:
    """Register the decorated function as the handler of a tool. A handler that waits is a coroutine function."""

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
            accompanies=accompanies,
            shows_plan_step=shows_plan_step,
            shown=shown,
            extended=extended,
            synonyms=synonyms,
            other_names=other_names,
        )
        return handler

    return register


@contextmanager
def atomic_registration() -> Iterator[Callable[[], list[str]]]:
    """Remove the tools that the block registered if it raises. Yield a function that returns their names so far."""
    before = dict(_tools)
    try:
        yield lambda: [name for name in _tools if name not in before]
    except BaseException:
        _tools.clear()
        _tools.update(before)
        raise


def load_plugins() -> None:
    """Import all plugins. Built-in tools are registered first, so no plugin can take their names."""
    _plugin_errors.clear()
    for point in entry_points(group=PLUGIN_GROUP):
        try:
            _load_plugin(point)
        except (Exception, SystemExit) as error:  # a plugin can fail in any way, and must not stop the server
            logger.exception("could not load the tool plugin %s", point.name)
            _plugin_errors[point.name] = f"{type(error).__name__}: {error}"[:500]


def plugin_errors() -> Mapping[str, str]:
    """Return the reasons why plugins could not be loaded, by the name of the entry point."""
    return _plugin_errors


def _load_plugin(point: EntryPoint) -> None:
    """Register all tools of the plugin, or none."""
    with atomic_registration() as registered_names:
        point.load()
        if not registered_names():
            raise ValueError(f"{point.value} registers no tool, or its module was imported before")


def get(name: str) -> ToolDefinition:
    """Return the tool with this name.

    Raises: UnknownTool.
    """
    if name not in _tools:
        raise UnknownTool(f"There is no tool called {name!r}.{_hint(name)}")
    return _tools[name]


def _hint(name: str) -> str:
    """Return a sentence that names the tool for the purpose of another harness's tool, or ""."""
    plain = re.sub(r"[^a-z]", "", name.lower())
    hint = next((hint for hint, names in _FOREIGN_TOOLS.items() if plain in names), "")
    return f" Use {hint}." if hint else ""


def meant_name(name: str, others: Collection[str]) -> str:
    """Return the name of the tool that a call means, without the prefix of a namespace, also by one of its other names.

    `others` are the names of further tools. A name that means no tool is unchanged.
    """
    plain = _NAMESPACE.sub("", name.strip())
    for candidate in (name, plain):
        if candidate in _tools or candidate in others:
            return candidate
    return next((tool.name for tool in _tools.values() if plain.lower() in tool.other_names), name)


def all_tools() -> list[ToolDefinition]:
    return list(_tools.values())


def compact_line(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the line that replaces an old call in the context.

    Without a template, or a tool, it is the name and the arguments.
    """
    template = ""
    if tool := _tools.get(name):
        template = tool.compact_template
        arguments, _ = clarified(dict(arguments), tool.parameters, tool.synonyms)
    if not template:
        return " ".join([name, *(f"{key}={value}" for key, value in arguments.items())])
    return fill_template(template, arguments)


def fill_template(template: str, arguments: Mapping[str, Any]) -> str:
    """Fill in the template of an activity or of a compact line with the arguments of one call.

    Arguments are written in braces. A part in brackets is left out if one of its arguments is missing.
    """

    def optional_part(match: re.Match[str]) -> str:
        names = _FIELD.findall(match[1])
        return match[1] if all(arguments.get(name) is not None for name in names) else ""

    template = _OPTIONAL.sub(optional_part, template)
    return _FIELD.sub(lambda field: _text_of(arguments.get(field[1], "")), template)


def _text_of(value: Any) -> str:
    """Return the text of an argument: a list by its members, an object by its title."""
    if isinstance(value, list):
        return ", ".join(map(_text_of, value))
    return str(value.get("title", value)) if isinstance(value, dict) else str(value)

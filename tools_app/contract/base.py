"""Tool definitions and handlers, their inputs and outputs, and the parser of the arguments that a model sends."""

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cache, cached_property
from inspect import iscoroutinefunction
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from tools_app.contract.capabilities import (
    AskModel,
    Delegation,
    Handoffs,
    MakeMedia,
    McpTarget,
    Memory,
    NoMemory,
    NoProjectLibrary,
    NoSearches,
    NoSkills,
    ProjectLibrary,
    ReaderService,
    RelistMcpTools,
    Searches,
    Skills,
    StoredResult,
    no_listing,
    no_media_maker,
    no_model,
    no_server,
    nothing_stored,
)
from tools_app.contract.clear_arguments import Synonyms, clarified, read_object
from tools_app.contract.effects import Effect, PlanStep
from tools_app.errors import InvalidArguments
from tools_app.files import Workspace
from tools_app.json_schema.model_schemas import PlainRoot, compilable, concise, lean, plain_root
from tools_app.json_schema.validation import MAX_DEPTH, coerce, depth
from tools_app.network import NetworkPolicy
from tools_app.sandbox import Layer, Mask, ProcessIdentity, Sandbox

PATH_ARGUMENTS = frozenset(["path", "paths", "to", "image", "attachments"])  # arguments of tools that name files
PLAN_STEP = "plan_step"  # an argument that any call can have: the step of the plan that begins with it


class Danger(IntEnum):
    """The danger of a call. Moderate calls are logged in detail, dangerous calls need an approval."""

    SAFE = 0
    MODERATE = 1
    DANGEROUS = 2

    @property
    def word(self) -> str:
        return self.name.lower()


class Target(StrEnum):
    """The part of the system in which a tool works."""

    ENGINE = "engine"
    SANDBOX = "sandbox"
    NETWORK = "network"
    BROWSER = "browser"
    MCP = "mcp"


class Arguments(BaseModel):
    """The base of every tool's arguments. Unknown arguments are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The danger of one call, and the rule that decided it. The person who approves the call reads the rule.

    `covers` names the calls for which an approval for the entire task is valid; "" stands for all calls of the rule.
    """

    danger: Danger
    rule: str = ""
    covers: str = ""


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """The result of a call.

    The model reads `content` and sees `images` (paths in the workspace); without vision it reads only that there is a
    picture. The engine stores `effects`. Only pages show `metadata`.

    `summary` describes the outcome in one line. It replaces the result in an outline of the conversation, and becomes
    the session's summary if the call ends the task. The default is the beginning of `content`, or the text of the
    task's result.

    `cut` selects the part that the model sees of a result over `ToolContext.page_bytes`; the full text is then stored
    as a file. "end" shows the first lines. "middle" shows the first and the last lines; the very last line is the
    tool's own and is not stored. "none" means that the tool has already made a page that fits, with the call for the
    next page (`tools_app.paging`). `notes` always follow.
    """

    content: str
    status: Literal["succeeded", "failed", "blocked", "interrupted"] = "succeeded"  # the last two: withheld
    cut: Literal["end", "middle", "none"] = "end"
    notes: Sequence[str] = ()
    images: Sequence[str] = ()
    effects: Sequence[Effect] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """The state and the capabilities that a handler can use.

    - `session` identifies the caller, for state that outlives the call.
    - `layers` are the layers that commands see in the sandbox, and `mask` is what an administrator hides from commands.
      Both are computed on demand.
    - `groups` maps the name of each group of tools that is loaded on demand to the names of its tools. `shown_tools`
      are the names of the tools that the model sees, `tool_limit` is the most that its provider accepts, if known.
    - `output_schema` is the JSON Schema of the task's result, `time_zone` the time zone of the person.
    - `page_bytes` is the part of a result that the model sees, in bytes, including the tool's own remarks.
    - `last_job` is the highest number that the session has used for a background command.
    - `secrets` are the values of the placeholders in the arguments. Only a tool that takes secrets gets them.
    - `report` shows output while the tool runs, `started` records a new process group, and `job_ended` records that a
      background command has ended by itself. They are called on the event loop.
    - `so_far` takes a function that returns the output of an interrupted call.
    """

    session: str
    workspace: Workspace
    sandbox: Sandbox
    layers: Callable[[], tuple[Layer, ...]] = tuple
    mask: Callable[[], Mask] = Mask
    network: NetworkPolicy
    plan: Sequence[PlanStep] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    shown_tools: Sequence[str] = ()
    tool_limit: int | None = None
    output_schema: str = ""
    time_zone: str = "UTC"
    page_bytes: int = 14_400
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    ask_model: AskModel = no_model
    make_media: MakeMedia = no_media_maker
    searches: Searches = field(default_factory=NoSearches)
    stored_result: StoredResult = nothing_stored
    mcp_target: McpTarget = no_server
    relist_mcp_tools: RelistMcpTools = no_listing
    skills: Skills = field(default_factory=NoSkills)
    handoffs: Handoffs = field(default_factory=Handoffs)
    memory: Memory = field(default_factory=NoMemory)
    library: ProjectLibrary = field(default_factory=NoProjectLibrary)
    delegation: Delegation = field(default_factory=Delegation)
    reader: ReaderService | None = None
    last_job: int = 0
    job_ended: Callable[[], None] = field(default=lambda: None)
    so_far: Callable[[Callable[[], str]], None] = field(default=lambda ask: None)
    report: Callable[[str], None]
    started: Callable[[ProcessIdentity], None]


@dataclass(frozen=True, kw_only=True)
class ToolVisibility:
    """The facts about a task that decide which tools a model sees, in addition to the policies of administrators.

    They are compared by value: the tool list is rebuilt only when one of them changes. None of them follows the work of
    a task, such as an open page: each change of the list loses the provider's cache of the entire conversation.

    - `makes_images`, `makes_audio`, `sees_pictures`: the task's person can use a model that does so.
    - `model_sees`: the conversation's own model sees pictures.
    - `answers_only`: only the tool `message` is left.
    - `in_workflow`: the task has the steps of a workflow instead of a plan.
    - `has_groups`: there are groups of tools to load. `loaded` are the groups that the session has loaded, and
      single tools of groups.
    - `skills`: name and description of each skill that the task's person can use.
    - `handoffs`: name and description of each agent to which the acting agent can hand on.
    - `may_delegate`: the task can delegate. `shows_delegate`: models see that. `agents`: the agents to which it can.
    - `has_library`: the session's project has files to search.
    - `output_schema`: the JSON Schema, as text, for the data of the result, or "".
    - `asks_for_commands`: dangerous commands wait for a person's approval.
    """

    makes_images: bool = False
    makes_audio: bool = False
    sees_pictures: bool = False
    model_sees: bool = False
    answers_only: bool = False
    in_workflow: bool = False
    loaded: frozenset[str] = frozenset()
    has_groups: bool = False
    skills: tuple[tuple[str, str], ...] = ()
    handoffs: tuple[tuple[str, str], ...] = ()
    may_delegate: bool = False
    shows_delegate: bool = False
    agents: tuple[tuple[str, str], ...] = ()
    has_library: bool = False
    output_schema: str = ""
    asks_for_commands: bool = False


# A handler that neither waits nor has side effects is a plain function: it needs no round trip through the event loop,
# and no intent is recorded. If it returns a coroutine after all, that call is awaited.
Handler = Callable[[Any, ToolContext], ToolResult | Coroutine[Any, Any, ToolResult]]


def always(visibility: ToolVisibility) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class ToolDefinition:
    """A tool as it is registered.

    `judge` receives the arguments and the workspace. It can raise `danger` and never lowers it. `compact_template` is
    the line that replaces an old call in the context. `activity` describes calls by their action, kind or type, or
    under "": one call before the bar, several (#) after it, as in "read {path}|read # files". Without a bar,
    {path} names the files of several calls.

    `visible` returns whether models have the tool at a step. A tool that is not `listed` can still be called. It is
    listed only with the tool that it `accompanies`. `shown` returns the arguments that models see, as a model with
    fewer actions or kinds. `extended` returns their schema with additions of the step, and with `shows_plan_step` it
    names that argument. Calls are always validated against `arguments`, and the handler explains what is not possible
    now.

    A tool that `takes_secrets` finds the values of placeholders in its context, and substitutes them itself where that
    is safe. `own_schema` is the JSON Schema, as text, of a tool without a model of its arguments. `group` is the name
    under which the tool is loaded on demand. `synonyms` are the words of other harnesses for its arguments,
    `other_names` those for the tool.
    """

    name: str
    description: str
    arguments: type[Arguments]
    handler: Handler
    danger: Danger
    target: Target
    judge: Callable[[Any, Workspace], Judgement] | None = None
    compact_template: str = ""
    activity: Mapping[str, str] = field(default_factory=dict, hash=False)
    loop_exempt: bool = False
    takes_secrets: bool = False
    visible: Callable[[ToolVisibility], bool] = always
    listed: Callable[[ToolVisibility], bool] = always
    accompanies: str = ""
    shows_plan_step: bool = False
    shown: Callable[[ToolVisibility], type[Arguments]] | None = None
    extended: Callable[[dict[str, Any], ToolVisibility], dict[str, Any]] | None = None
    own_schema: str = ""
    group: str = ""
    synonyms: Synonyms = field(default_factory=Synonyms, hash=False)
    other_names: Sequence[str] = ()

    def judgement(self, arguments: Arguments, workspace: Workspace) -> Judgement:
        floor = Judgement(danger=self.danger)
        raised = self.judge(arguments, workspace) if self.judge else floor
        return raised if raised.danger >= floor.danger else floor

    @cached_property
    def is_plain(self) -> bool:
        """Return whether the handler is a plain function."""
        return not iscoroutinefunction(self.handler)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Return the JSON Schema of all arguments."""
        return json.loads(self.own_schema) if self.own_schema else schema_of(self.arguments)

    @cached_property
    def plain_root(self) -> PlainRoot:
        """Return the arguments in the form that providers accept."""
        return plain_root(self.parameters)

    def parameters_in(self, visibility: ToolVisibility) -> dict[str, Any]:
        """Return the JSON Schema that models see."""
        if self.own_schema:
            return compilable(self.plain_root.schema)
        schema = lean(schema_of(self.shown(visibility)) if self.shown else self.plain_root.schema)
        if self.shows_plan_step and not visibility.in_workflow:
            step = {"type": "integer", "description": "See the result of plan."}
            schema = {**schema, "properties": {**schema["properties"], PLAN_STEP: step}}
        return compilable(self.extended(schema, visibility) if self.extended else schema)


@cache
def schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    """Return the schema of a model of arguments. It is cached because it takes a millisecond."""
    return concise(arguments.model_json_schema())


def _ignore(remark: str) -> None: ...


def read_arguments(definition: ToolDefinition, text: str, note: Callable[[str], None] = _ignore) -> Arguments:
    """Return the arguments of a call, parsed, coerced and validated.

    `note` receives a remark for each argument that was clear but not as the schema says.

    The arguments of a tool with its own schema are only parsed: `mcp.arguments` checks them in a child process, because
    the schema is untrusted.

    Raises: InvalidArguments, with a sentence for the model.
    """
    arguments = definition.plain_root.restored(parse(text, definition.name, note))
    if PLAN_STEP in arguments and not _has_own_plan_step(definition):
        del arguments[PLAN_STEP]
    if definition.own_schema:
        return validate(definition, arguments)
    arguments, remarks = clarified(coerce(arguments, definition.parameters), definition.parameters, definition.synonyms)
    for remark in remarks:
        note(remark)
    return validate(definition, coerce(arguments, definition.parameters) if remarks else arguments)


def with_relative_paths(arguments: Arguments, workspace: Workspace, note: Callable[[str], None]) -> Arguments:
    """Return the arguments with paths of this machine as paths of the workspace. `note` receives each change."""
    changes: dict[str, Any] = {}
    for name in PATH_ARGUMENTS & arguments.model_fields_set:
        value = getattr(arguments, name)
        values = value if isinstance(value, list) else [value]
        relative = [workspace.relative(item) if isinstance(item, str) else item for item in values]
        if relative != values:
            changes[name] = relative if isinstance(value, list) else relative[0]
            note(f"{name}: {value} → {changes[name]}")
    return arguments.model_copy(update=changes) if changes else arguments


def plan_step_of(definition: ToolDefinition, text: str) -> Any:
    """Return the step of the plan that begins with a valid call, as the model named it, or None."""
    if PLAN_STEP not in text or _has_own_plan_step(definition):  # saves parsing most calls again
        return None
    return parse(text, definition.name).get(PLAN_STEP)


def _has_own_plan_step(definition: ToolDefinition) -> bool:
    """Return whether the tool itself has an argument of this name, as one of an MCP server can."""
    return PLAN_STEP in definition.parameters.get("properties", {})


def parse(text: str, tool: str = "", note: Callable[[str], None] = _ignore) -> dict[str, Any]:
    """Return the JSON object in `text`.

    Raises: InvalidArguments for anything else, most often JSON that was cut off.
    """
    try:
        value, deviation = read_object(text, tool)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate cannot be encoded
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(f"The arguments are not valid JSON ({error}). Send the whole call again.") from error
    if deviation:
        note(deviation)
    if not isinstance(value, dict):
        json_type = {list: "a list", str: "a text", bool: "a boolean", type(None): "null"}.get(type(value), "a number")
        raise InvalidArguments(f"The arguments must be a JSON object, not {json_type}.")
    if text.count("[") + text.count("{") > MAX_DEPTH and depth(value) > MAX_DEPTH:
        raise InvalidArguments(f"The arguments are nested more than {MAX_DEPTH} levels deep.")
    return value


def validate(definition: ToolDefinition, value: Mapping[str, Any]) -> Arguments:
    try:
        return definition.arguments.model_validate(value, strict=True)
    except ValidationError as error:
        faults = [_fault(item, definition) for item in error.errors()[:5]]
        raise InvalidArguments(f"Invalid arguments for {definition.name}: {'; '.join(faults)}.") from error


def _fault(error: ErrorDetails, definition: ToolDefinition) -> str:
    """Return the fault of an argument. An unknown argument is named with those that exist."""
    path = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
        return f"there is no argument {path}; the arguments are {', '.join(definition.parameters['properties'])}"
    message = error["msg"].removeprefix("Value error, ")
    return f"{path}: {message}" if path else message

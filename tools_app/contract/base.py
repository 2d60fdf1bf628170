"""A tool: its definition, its handler, and their inputs and outputs, with the arguments that a model wrote."""

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cache, cached_property
from inspect import iscoroutinefunction
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tools_app.contract.capabilities import (
    AskModel,
    Delegation,
    Handoffs,
    Library,
    MakeMedia,
    McpTarget,
    Memory,
    NoLibrary,
    NoMemory,
    NoSearches,
    NoSkills,
    ReaderService,
    Searches,
    Skills,
    StoredResult,
    no_maker,
    no_model,
    no_server,
    nothing_stored,
)
from tools_app.contract.effects import Effect, PlanStep
from tools_app.contract.visibility import ToolVisibility
from tools_app.errors import InvalidArguments
from tools_app.files import Workspace
from tools_app.json_schema.coercion import DEEPEST, coerced, depth, loads
from tools_app.json_schema.concise import compilable, concise
from tools_app.json_schema.plain_root import PlainRoot, plain_root
from tools_app.network import NetworkPolicy
from tools_app.sandbox import Layer, Mask, Sandbox, Started


class Danger(IntEnum):
    """Safe runs; moderate runs and is logged in detail; dangerous asks a person."""

    SAFE = 0
    MODERATE = 1
    DANGEROUS = 2

    @property
    def word(self) -> str:
        return self.name.lower()


class Target(StrEnum):
    """Where a tool does its work."""

    ENGINE = "engine"
    SANDBOX = "sandbox"
    NETWORK = "network"
    BROWSER = "browser"
    MCP = "mcp"


class Arguments(BaseModel):
    """The base of every tool's arguments: an argument that the tool does not have is an error, not a guess."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """How dangerous one call is, and by which rule; the rule's words are for the person who approves."""

    danger: Danger
    rule: str = ""


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What the model reads (`content`) and sees (`images`, paths in the workspace), what shall be stored (`effects`),
    and what only a page shows (`metadata`). A model without vision only reads that there is a picture.

    `summary` says in a line what came of it: it stays when the conversation keeps only an outline of the call, and it
    becomes the session's where the call ends the task. Without one, the beginning of `content` and the text of the
    result take its place.

    `cut` says what is shown of more than `ToolContext.page_bytes`; the whole is then kept as a file. "end": the first
    lines. "middle": the first and the last lines, the very last of which is the tool's own and not kept. "none": the
    tool has made a page that fits, with the call that shows the next one (`tools_app.paging`). `notes` are said after
    it in any case.
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
    """What a handler may use: the workspace, the sandbox and the `layers` that commands see in it, the network policy,
    stored data and capabilities.

    `session` identifies the caller, for what outlives the call. `report` shows output while the tool runs, `started`
    records a new process group, `job_ended` that a background command has ended by itself: they are called on the event
    loop. `so_far` takes a function that gives the output of a call that was interrupted. `output_schema` is that of the
    task's result, `time_zone` that of the person. `groups` are the names of tools by the group that they are loaded
    with. `page_bytes` is how much of a result the model is shown, the tool's own words included. `layers` and `mask`,
    what an administrator keeps commands from, are found when they are asked for. `last_job` is the highest number of a
    background command that the session has used. `secrets` are the values of the placeholders in the arguments, only
    for a tool that takes secrets.
    """

    session: str
    workspace: Workspace
    sandbox: Sandbox
    layers: Callable[[], tuple[Layer, ...]] = tuple
    mask: Callable[[], Mask] = Mask
    network: NetworkPolicy
    plan: Sequence[PlanStep] = ()
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    output_schema: str = ""
    time_zone: str = "UTC"
    page_bytes: int = 14_400
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    ask_model: AskModel = no_model
    make_media: MakeMedia = no_maker
    searches: Searches = field(default_factory=NoSearches)
    stored_result: StoredResult = nothing_stored
    mcp_target: McpTarget = no_server
    skills: Skills = field(default_factory=NoSkills)
    handoffs: Handoffs = field(default_factory=Handoffs)
    memory: Memory = field(default_factory=NoMemory)
    library: Library = field(default_factory=NoLibrary)
    delegation: Delegation = field(default_factory=Delegation)
    reader: ReaderService | None = None
    last_job: int = 0
    job_ended: Callable[[], None] = field(default=lambda: None)
    so_far: Callable[[Callable[[], str]], None] = field(default=lambda ask: None)
    report: Callable[[str], None]
    started: Callable[[Started], None]


# A handler that waits for nothing and touches nothing is a plain function: it needs no way to the event loop and back,
# and no intent. Where such a function returns a coroutine all the same, this call of it waits.
Handler = Callable[[Any, ToolContext], ToolResult | Coroutine[Any, Any, ToolResult]]


def always(visibility: ToolVisibility) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class ToolDefinition:
    """`judge` may only raise `danger`, never lower it; it sees the arguments, and what they name in the workspace.
    `compact_template` is the line that replaces an old call in the context; `activity` says what calls did, by their
    action, kind or type, or under "": one call before the bar, several (#) behind it, as in "read {path}|read # files".

    `visible` says whether models have the tool at a step; one that is not `listed` may be called all the same. `shown`
    says which of its arguments they see, as a model of fewer actions or kinds, and `extended` what the step adds to
    their schema. Calls are validated by `arguments` in any case: the handler explains what is not possible now. A
    tool that `takes_secrets` finds the values of placeholders in its context and substitutes them itself, where
    that is safe. `own_schema` is the schema, as JSON, of a tool whose arguments are no model of ours; `group` the
    name by which it is loaded on demand.
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
    shown: Callable[[ToolVisibility], type[Arguments]] | None = None
    extended: Callable[[dict[str, Any], ToolVisibility], dict[str, Any]] | None = None
    own_schema: str = ""
    group: str = ""

    def judgement(self, arguments: Arguments, workspace: Workspace) -> Judgement:
        floor = Judgement(danger=self.danger)
        raised = self.judge(arguments, workspace) if self.judge else floor
        return raised if raised.danger >= floor.danger else floor

    @cached_property
    def is_plain(self) -> bool:
        """Whether its handler is a plain function."""
        return not iscoroutinefunction(self.handler)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of all its arguments."""
        return json.loads(self.own_schema) if self.own_schema else schema_of(self.arguments)

    @cached_property
    def plain_root(self) -> PlainRoot:
        """The arguments in the form in which providers take them."""
        return plain_root(self.parameters)

    def parameters_in(self, visibility: ToolVisibility) -> dict[str, Any]:
        """The JSON Schema that models see."""
        schema = schema_of(self.shown(visibility)) if self.shown else self.plain_root.schema
        return compilable(self.extended(schema, visibility) if self.extended else schema)


@cache
def schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    """Cached for each model of arguments: it takes a millisecond."""
    return concise(arguments.model_json_schema())


def read_arguments(definition: ToolDefinition, text: str) -> Arguments:
    """The arguments of a call, parsed, coerced and valid. Raises InvalidArguments with a sentence for the model.

    Those of a tool with a schema of its own are only parsed: `mcp.checking` follows what strangers wrote.
    """
    given = definition.plain_root.restored(parse(text))
    return validate(definition, given if definition.own_schema else coerced(given, definition.parameters))


def parse(text: str) -> dict[str, Any]:
    """The JSON object in `text`. Raises InvalidArguments for anything else, above all for JSON that was cut off."""
    try:
        value = loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair cannot be encoded
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(f"The arguments are not valid JSON ({error}). Send the whole call again.") from error
    if not isinstance(value, dict):
        raise InvalidArguments(f"The arguments must be a JSON object, not {_kind(value)}.")
    if text.count("[") + text.count("{") > DEEPEST and depth(value) > DEEPEST:
        raise InvalidArguments(f"The arguments are nested more than {DEEPEST} levels deep.")
    return value


def validate(definition: ToolDefinition, value: Mapping[str, Any]) -> Arguments:
    try:
        return definition.arguments.model_validate(value, strict=True)
    except ValidationError as error:
        faults = "; ".join(_fault(item) for item in error.errors()[:5])
        raise InvalidArguments(f"Invalid arguments for {definition.name}: {faults}.") from error


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "a boolean", type(None): "null"}.get(type(value), "a number")


def _fault(item: Any) -> str:
    place = ".".join(str(part) for part in item["loc"])
    message = str(item["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message

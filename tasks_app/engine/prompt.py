"""The system prompt out of its sections, and all that a model sees. The same inputs give the same bytes."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import orjson
from django.template.loader import render_to_string

from llm_app.cache_boundary import MARKER
from llm_app.types import Prompt, ToolMode, ToolSpec
from tasks_app.engine.task_context import TaskContext
from tools_app import registry
from tools_app.situation import Situation

STABLE = (
    "identity",
    "guardrails",
    "language",
    "format",
    "agent_loop",
    "tool_protocol",  # the one of the tool mode
    "tool_use",
    "error_handling",
    "environment",
    "browser",
    "secrets",
    "prompt_injection",
)
DYNAMIC = ("preferences",)
PROTOCOLS = {
    ToolMode.NATIVE: "tool_protocol",
    ToolMode.XML: "tool_protocol_xml",
    ToolMode.JSON: "tool_protocol_json",
}
CLI_TOOLS = ("python3", "git", "node", "curl", "jq", "rg", "sed", "awk", "tar", "zip", "ffmpeg", "pandoc", "pdftotext")


@dataclass(frozen=True, kw_only=True)
class PromptInputs:
    """All that the system prompt depends on. A clock is not among it: it would break every cache behind it.

    `functions` describes the tools, in a mode that has no field for them.
    """

    person: str
    preferences: str
    has_shell: bool
    has_browser: bool
    sandbox: str
    cli_tools: str
    mode: ToolMode = ToolMode.NATIVE
    functions: str = ""


def build(context: TaskContext, mode: ToolMode) -> Prompt:
    """What the model sees in the next turn beside the conversation, in a tool mode."""
    situation = context.situation
    visible = context.policy.visible(situation)
    names, user = tuple(tool.name for tool in visible), context.task.started_by
    inputs = PromptInputs(
        person=user.get_username(),
        preferences=user.preferences,
        has_shell="shell" in names,
        has_browser="browser" in names,
        sandbox=context.sandbox.name,
        cli_tools=", ".join(_installed()),
        mode=mode,
        functions="" if mode is ToolMode.NATIVE else _functions(names, situation),
    )
    return Prompt(system=system_prompt(inputs), tools=_specs(names, situation), messages=())


@lru_cache(maxsize=64)
def _specs(names: tuple[str, ...], situation: Situation) -> tuple[ToolSpec, ...]:
    """The tool list is rebuilt only when what is visible changes."""
    tools = (registry.get(name) for name in names)
    return tuple(ToolSpec(name=t.name, description=t.description, parameters=t.parameters_in(situation)) for t in tools)


@lru_cache(maxsize=64)
def _functions(names: tuple[str, ...], situation: Situation) -> str:
    """The tools as a model reads them in its prompt, one a line; nothing in a description can end the section."""
    rows = (
        {"name": t.name, "description": t.description, "parameters": t.parameters} for t in _specs(names, situation)
    )
    lines = (orjson.dumps(row).decode().replace("</", "<\\/") for row in rows)
    return "\n".join(f"<function>{line}</function>" for line in lines)


@lru_cache(maxsize=256)
def system_prompt(inputs: PromptInputs) -> str:
    """The stable sections, the cache marker, the sections that differ from person to person."""
    stable, dynamic = (_render(names, inputs) for names in (STABLE, DYNAMIC))
    return f"{stable}\n{MARKER}\n{dynamic}".rstrip() + "\n"


def tools_text(tools: Sequence[ToolSpec]) -> str:
    """The tool list as it is kept beside the log of a call."""
    rows = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools]
    return orjson.dumps(rows).decode()


def _render(names: tuple[str, ...], inputs: PromptInputs) -> str:
    chosen = (PROTOCOLS[inputs.mode] if name == "tool_protocol" else name for name in names)
    sections = (render_to_string(f"prompt/{name}.xml", vars(inputs)) for name in chosen)
    return "\n".join(filter(None, (section.strip() for section in sections)))


@cache
def _installed() -> tuple[str, ...]:
    return tuple(name for name in CLI_TOOLS if shutil.which(name, path="/usr/local/bin:/usr/bin:/bin"))

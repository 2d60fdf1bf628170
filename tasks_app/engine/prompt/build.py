"""The prompt's head: the system prompt and the tool list, which precede the conversation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from llm_app.call import TargetModel
from llm_app.models import LogicalModel
from llm_app.redaction import Redactor, placeholder, redacted_system, redacted_tools
from llm_app.stored_prompt import dump_tools
from llm_app.types import Prompt, ToolMode, ToolSpec
from tasks_app.engine.capabilities.skills import catalogue
from tasks_app.engine.prompt.sections import DYNAMIC, IN_ORDER, PromptInputs, section, system_prompt
from tasks_app.models import Agent, Limits, PromptSection
from tasks_app.record import tokens
from tasks_app.run import TaskContext
from tasks_app.workspace.folders import layers, sandbox
from tools_app.contract import ToolDefinition, ToolVisibility
from tools_app.json_schema import brief, first_sentence
from tools_app.policy import Policy, VisibleTools, policy_for
from tools_app.sandbox import CommandLimits, Local, Sandbox, SandboxContents, cores, sandbox_contents


class PromptHead(NamedTuple):
    """A prompt without messages. `tokens` is its entire size by our count."""

    prompt: Prompt
    dump_tools: str
    tokens: int


def build_for(context: TaskContext, recipient: TargetModel) -> PromptHead:
    """Return the head for the next request: the brief form if the full one takes over half of the window."""
    full = build(context, recipient.tool_mode, recipient.max_tokens)
    if 2 * full.tokens <= recipient.context_window:
        return full
    return build(context, recipient.tool_mode, recipient.max_tokens, is_brief=True)


def build(context: TaskContext, mode: ToolMode, max_tokens: int, *, is_brief: bool = False) -> PromptHead:
    """Return the head in a tool mode, full or brief: the cached one while its inputs are unchanged.

    `max_tokens` is the output limit of the route.
    """
    settings, visibility, sandbox = context.settings, context.visibility, context.sandbox
    visible = context.visible
    task_inputs = _task_inputs(context, visible)
    available = _available_commands(visible, sandbox, settings.agent)
    inputs_key = (settings, visibility, context.secrets.active, sandbox, available, task_inputs)
    cached_key, head = context.head_cache.get((mode, max_tokens, is_brief), (None, None))
    if not isinstance(head, PromptHead) or cached_key != inputs_key:
        person = context.task.started_by
        inputs = replace(
            inputs_of(person, settings.policy, visibility, sandbox, settings.agent),
            mode=mode,
            is_brief=is_brief,
            output_limit=f"{max_tokens:,}",
            result_bytes=tokens.page_bytes(settings.result_tokens),
            own=settings.own_sections,
            **task_inputs,
        )
        head = _head(inputs, tuple(visible), visibility, context.secrets.redactor)
        context.head_cache[mode, max_tokens, is_brief] = inputs_key, head
    return head


def _task_inputs(context: TaskContext, visible: VisibleTools) -> dict[str, Any]:
    """Return the inputs that depend on more than settings, tools and secrets."""
    off_record = context.session.off_record
    return {
        "off_record": off_record,
        "preferences": "" if context.is_shared else context.task.started_by.preferences,  # readers may see the prompt
        "remaining": ", ".join(f"`{tool.name}`" for tool in visible) if off_record else "",
        **(_secret_inputs(context, visible) if context.secrets.active.secrets else {}),
    }


@lru_cache(maxsize=64)
def _head(
    inputs: PromptInputs, visible: tuple[ToolDefinition, ...], visibility: ToolVisibility, redactor: Redactor
) -> PromptHead:
    """Build a head. Tasks with the same inputs share it."""
    if inputs.mode is not ToolMode.NATIVE:
        inputs = replace(inputs, functions=_functions(visible, visibility, redactor, is_brief=inputs.is_brief))
    system = redacted_system(system_prompt(inputs), redactor)
    tools = _specs(visible, visibility, redactor, is_brief=inputs.is_brief)
    text = dump_tools(tools)
    tool_list = text if inputs.mode is ToolMode.NATIVE else ""  # others have the list in the prompt
    size = tokens.estimate(system) + tokens.estimate(tool_list)
    return PromptHead(Prompt(system=system, tools=tools, messages=()), text, size)


def inputs_of(
    person: Any, policy: Policy, visibility: ToolVisibility, sandbox: Sandbox, agent: Agent | None
) -> PromptInputs:
    """Return the inputs that are the same for all tasks of a person with these tools."""
    visible = policy.visible(visibility)
    names, available = visible.names, _available_commands(visible, sandbox, agent)
    return PromptInputs(
        person=person.get_username(),
        preferences=person.preferences,
        has_shell="shell" in names,
        has_browser="browser" in names,
        sandbox=sandbox.name,
        command_limits=_command_limits(sandbox),
        cli_tools=", ".join(available.programs) or "none",
        missing_tools=", ".join(available.missing),
        python_packages=", ".join(available.packages),
        command_hosts=", ".join(sorted(policy.hosts("shell"))),
        wants_data=bool(visibility.output_schema),
        groups=tuple(
            (name, policy.group_description(name), len(tools))
            for name, tools in sorted(policy.tools_by_group.items())
            if tools
        ),
        unreachable=tuple(name for name in policy.unreachable if not policy.tools_by_group.get(name)),
        skills=visibility.skills if "skill" in names else (),
    )


def _available_commands(visible: VisibleTools, sandbox: Sandbox, agent: Agent | None) -> SandboxContents:
    """Return the programs and packages that commands find, if there is a shell."""
    return sandbox_contents(sandbox, layers(sandbox, agent)) if "shell" in visible.names else SandboxContents()


def _command_limits(sandbox: Sandbox) -> str:
    """Return the limits by which a model can plan its commands. The local sandbox has fewer."""
    limits, number = CommandLimits(), cores()
    common = f"{number} × timeout_s CPU seconds ({number} cores), {limits.memory // 1024**3} GiB of memory"
    if sandbox.name == Local.name:
        return common
    return f"{common}, {limits.processes} processes, {limits.temporary // 1024**2} MiB in /tmp"


def _secret_inputs(context: TaskContext, visible: VisibleTools) -> dict[str, Any]:
    """Return the inputs about secrets and their tools, or nothing without a tool that takes secrets."""
    tools = ", ".join(f"`{name}`" for name in visible.taking_secrets)
    usable = context.secrets.usable_in(context.task) if tools else {}
    own = {name for name, owner, _ in context.secrets.active.secrets if owner == context.task.started_by_id}
    return {
        "secrets": tuple(map(placeholder, sorted(usable))),
        "tools_with_secrets": tools,
        "withholds_secrets": bool(tools and own - usable.keys()),
    }


@lru_cache(maxsize=64)
def _specs(
    tools: tuple[ToolDefinition, ...], visibility: ToolVisibility, redactor: Redactor, *, is_brief: bool
) -> tuple[ToolSpec, ...]:
    """Return the tool list. It is cached until the visible tools or the secrets change."""
    specs = (ToolSpec(name=t.name, description=t.description, parameters=t.parameters_in(visibility)) for t in tools)
    if is_brief:
        specs = (
            replace(spec, description=first_sentence(spec.description), parameters=brief(spec.parameters))
            for spec in specs
        )
    return redacted_tools(specs, redactor)


@lru_cache(maxsize=64)
def _functions(
    tools: tuple[ToolDefinition, ...], visibility: ToolVisibility, redactor: Redactor, *, is_brief: bool
) -> str:
    """Return the tools as a model reads them in its prompt, one a line. No description can end the section."""
    rows = (
        {"name": t.name, "description": t.description, "parameters": t.parameters}
        for t in _specs(tools, visibility, redactor, is_brief=is_brief)
    )
    lines = (orjson.dumps(row).decode().replace("</", "<\\/") for row in rows)
    return "\n".join(f"<function>{line}</function>" for line in lines)


@dataclass(frozen=True, kw_only=True)
class PreviewedSection:
    """A section of the preview. `version` is an administrator's text that replaces the shipped one, if any."""

    name: str
    text: str
    version: PromptSection | None


def preview(agent: Agent, person: Any, mode: ToolMode = ToolMode.NATIVE) -> Sequence[PreviewedSection]:
    """Return the prompt's sections as a task of `person` would have them now: for administrators.

    In a mode without a field for tools, their list is left out here.
    """
    versions = PromptSection.objects.current_versions(agent)
    name = agent.model.name if agent.model else ""
    policy = policy_for(person.pk, denied=agent.denied_tools, safe_only=agent.safe_only)
    inputs = replace(
        inputs_of(person, policy, ToolVisibility(skills=catalogue(person.pk)), sandbox(), agent),
        mode=mode,
        result_bytes=tokens.page_bytes(Limits.current().result_tokens_in(LogicalModel.objects.window_of(name))),
        functions="(the tools, one a line)",
        own=(*((name, version.text) for name, version in versions.items()), ("instructions", agent.instructions)),
    )
    texts = [(name, section(name, inputs)) for name in (*IN_ORDER, *DYNAMIC)]
    return [PreviewedSection(name=name, text=text, version=versions.get(name)) for name, text in texts if text]

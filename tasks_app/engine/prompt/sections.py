"""The sections of the system prompt. Pure: the same inputs give the same bytes."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.template import Context, Engine

from llm_app.cache_boundary import MARKER, without_marker
from llm_app.types import ToolMode

STABLE = (
    "identity",
    "guardrails",
    "language",
    "format",
    "agent_loop",
    "tool_protocol",  # depends on the tool mode
    "tool_use",
    "error_handling",
    "environment",
    "browser",
    "secrets",
    "prompt_injection",
)
IN_ORDER = (*STABLE[:2], "instructions", *STABLE[2:])  # `instructions` are the agent's; none ship
DYNAMIC = ("off_record", "skills", "tool_groups", "preferences", "available_secrets", "output_schema")
BRIEF = frozenset((*STABLE, "tool_rules", "skills"))  # sections with a short form for small windows
_END_TAG = re.compile(r"<(\s*)/")
ADDED_TO = frozenset(["guardrails"])  # an administrator's words are added to the shipped ones
PROTOCOLS = {
    ToolMode.NATIVE: "tool_protocol",
    ToolMode.XML: "tool_protocol_xml",
    ToolMode.JSON: "tool_protocol_json",
}


@dataclass(frozen=True, kw_only=True)
class PromptInputs:
    """The inputs of the system prompt. A clock is not among them, as it would invalidate every cache of the prompt.

    `functions` describes the tools in a mode without a field for them. `secrets` are the placeholders that the task can
    use; `withholds_secrets`: the person's own are withheld because others write. `wants_data`: the result must fit a
    schema. `groups` have a name, a description and the number of tools; `unreachable` are servers without a group that
    could not be reached. `own` are the agent's sections as administrators wrote them, by name: texts, not
    templates. `remaining` are the tools of a session off the record. `result_bytes` is the shown part of a result,
    `output_limit` the tokens of a reply. `is_brief`: shipped sections have their short form.
    """

    person: str
    preferences: str
    has_shell: bool
    sandbox: str = ""
    command_limits: str = ""
    cli_tools: str = ""
    missing_tools: str = ""
    python_packages: str = ""
    result_bytes: int = 0
    output_limit: str = ""
    command_hosts: str = ""
    has_browser: bool = False
    mode: ToolMode = ToolMode.NATIVE
    is_brief: bool = False
    functions: str = ""
    secrets: tuple[str, ...] = ()
    tools_with_secrets: str = ""
    withholds_secrets: bool = False
    wants_data: bool = False
    groups: tuple[tuple[str, str, int], ...] = ()
    unreachable: tuple[str, ...] = ()
    skills: tuple[tuple[str, str], ...] = ()
    own: tuple[tuple[str, str], ...] = ()
    off_record: bool = False
    remaining: str = ""


@lru_cache(maxsize=256)
def system_prompt(inputs: PromptInputs) -> str:
    """Return the stable sections, the cache marker, and the sections that differ from person to person."""
    stable, dynamic = ([section(name, inputs) for name in names] for names in (IN_ORDER, DYNAMIC))
    return "\n".join(filter(None, [*stable, MARKER, *dynamic])) + "\n"


def section(name: str, inputs: PromptInputs) -> str:
    """Return a section in its tags, or '' if it has nothing to say, for example without a browser."""
    own_text = without_marker(dict(inputs.own).get(name, "")).strip()
    if name == "tool_protocol":  # the tool mode decides how calls are written, not an administrator's text
        values = {"functions": inputs.functions, "rules": own_text or _shipped_section("tool_rules", inputs)}
        return _rendered(PROTOCOLS[inputs.mode], values, is_brief=inputs.is_brief)
    if name == "instructions":
        return f"<instructions>\n{_without_end_tags(own_text)}\n</instructions>" if own_text else ""
    shipped = _shipped_section(name, inputs)
    if own_text and name in ADDED_TO:
        return f"{shipped.removesuffix(f'</{name}>')}{_without_end_tags(own_text)}\n</{name}>"
    return f"<{name}>\n{own_text}\n</{name}>" if own_text and shipped else shipped


def _shipped_section(name: str, inputs: PromptInputs) -> str:
    return _rendered(
        name, {key: _without_end_tags(value) for key, value in vars(inputs).items()}, is_brief=inputs.is_brief
    )


def _rendered(name: str, values: dict[str, Any], *, is_brief: bool) -> str:
    """Render a template without escaping: a model reads no HTML entities."""
    folder = "prompt/brief" if is_brief and name in BRIEF else "prompt"
    template = Engine.get_default().get_template(f"{folder}/{name}.xml")
    return template.render(Context(values, autoescape=False)).strip()


def _without_end_tags(value: Any) -> Any:
    """Return values without end tags, which could end the section around them."""
    if isinstance(value, str):
        return _END_TAG.sub(r"<\\\1/", value.strip())
    return tuple(map(_without_end_tags, value)) if isinstance(value, tuple) else value

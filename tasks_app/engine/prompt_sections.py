"""The system prompt out of its sections. Pure: the same inputs give the same bytes."""

from dataclasses import dataclass
from functools import lru_cache

from django.template.loader import render_to_string

from llm_app.cache_boundary import MARKER, without_marker
from llm_app.types import ToolMode

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
DYNAMIC = ("off_record", "skills", "tool_groups", "preferences", "available_secrets", "output_schema")
PROTOCOLS = {
    ToolMode.NATIVE: "tool_protocol",
    ToolMode.XML: "tool_protocol_xml",
    ToolMode.JSON: "tool_protocol_json",
}


@dataclass(frozen=True, kw_only=True)
class PromptInputs:
    """All that the system prompt depends on. A clock is not among it: it would break every cache behind it.

    `functions` describes the tools, in a mode that has no field for them; `secrets` are the placeholders that the
    person may use, `wants_data`: the result must fit a schema. `own` are the sections that the agent has in an
    administrator's words, by name: texts, not templates. `remaining` are the tools of a session off the record.
    """

    person: str
    preferences: str
    has_shell: bool
    sandbox: str
    cli_tools: str
    command_hosts: str = ""
    has_browser: bool = False
    mode: ToolMode = ToolMode.NATIVE
    functions: str = ""
    secrets: tuple[str, ...] = ()
    tools_with_secrets: str = ""
    wants_data: bool = False
    groups: tuple[tuple[str, str, int], ...] = ()
    skills: tuple[tuple[str, str], ...] = ()
    own: tuple[tuple[str, str], ...] = ()
    off_record: bool = False
    remaining: str = ""


@lru_cache(maxsize=256)
def system_prompt(inputs: PromptInputs) -> str:
    """The stable sections, the cache marker, the sections that differ from person to person."""
    stable, dynamic = ([section(name, inputs) for name in names] for names in (STABLE, DYNAMIC))
    return "\n".join(filter(None, [*stable, MARKER, *dynamic])) + "\n"


def section(name: str, inputs: PromptInputs) -> str:
    """One section, in its tags; empty where it has nothing to say, such as that of a browser that is not there."""
    words = without_marker(dict(inputs.own).get(name, "")).strip()
    if name == "tool_protocol":
        return _protocol(inputs, words)
    shipped = _shipped(name, inputs)
    return f"<{name}>\n{words}\n</{name}>" if words and shipped else shipped


def _protocol(inputs: PromptInputs, rules: str) -> str:
    """How a call is written belongs to the tool mode, whatever an administrator writes about calls."""
    rules = rules or _shipped("tool_rules", inputs)
    return render_to_string(f"prompt/{PROTOCOLS[inputs.mode]}.xml", {**vars(inputs), "rules": rules}).strip()


def _shipped(name: str, inputs: PromptInputs) -> str:
    preferences = inputs.preferences.strip().replace("</", "<\\/")  # what a person writes cannot end their section
    return render_to_string(f"prompt/{name}.xml", {**vars(inputs), "preferences": preferences}).strip()

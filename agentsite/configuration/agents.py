"""The sections `agents` and `workflows`: the settings of agents, and the steps that tasks go through in order."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from django.conf import settings
from pydantic import AfterValidator, StringConstraints

from agentsite.configuration.section import ConfigurationSection, Count, Name, save_changes, save_roles
from llm_app.models import LogicalModel
from tasks_app.models import Agent, AgentVersion, PromptSection, Workflow, WorkflowStep
from tasks_app.models.agent import MARKS, SECTIONS
from tasks_app.workspace.folders import check_environment
from tools_app.hooks import OUTPUT_FILTER, choices

SWITCHES = ("safe_mode", "autopilot", "self_verification", "termination_review")

Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=20_000)]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


def _check_section_name(name: str) -> str:
    if name not in SECTIONS:
        raise ValueError(f"there is no section called {name!r}; there are {', '.join(SECTIONS)}")
    return name


def _check_mark(name: str) -> str:
    if name and name not in MARKS:
        raise ValueError(f"there is no mark called {name!r}; there are {', '.join(MARKS)}")
    return name


def _check_expression(pattern: str) -> str:
    import regex  # imported on first use: 2 MB that few installations need

    try:
        regex.compile(pattern)
    except regex.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return pattern


def _check_hook(name: str) -> str:
    hooks = choices(tuple(settings.HOOKS))
    if name not in hooks:
        raise ValueError(f"there is no hook called {name!r}; there are {', '.join(hooks)}")
    return name


Pattern = Annotated[str, AfterValidator(_check_expression)]


class AgentSection(ConfigurationSection):
    """An agent. `sections` are prompt sections that replace the shipped ones; an empty text restores a shipped one.

    The keys from `safe_mode` to `termination_review` switch single `hooks` on and off.
    """

    name: Name
    description: str = ""
    mark: Annotated[str, AfterValidator(_check_mark)] = ""
    instructions: Text = ""
    roles: list[Name] = []  # members of these can choose it; none: everyone
    skills: list[Name] = []  # skills that it sees; none: all
    max_iterations: Count | None = None
    default: bool = False
    model: Name | None = None
    denied_tools: list[Name] = []
    restricted_paths: list[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]] = []
    blocked_commands: list[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]] = []
    environments: list[Annotated[str, AfterValidator(check_environment)]] = []
    hooks: list[Annotated[str, AfterValidator(_check_hook)]] = []
    safe_mode: bool = False
    autopilot: bool = False
    self_verification: bool = False
    termination_review: bool = False
    review_model: Name | None = None
    withheld_patterns: list[Pattern] = []
    delegates: bool = False
    helpers: list[Name] = []
    prune_outputs: bool = False
    shorten_results: bool = False
    summarise: bool = False
    handoffs: list[Name] = []
    sections: dict[Annotated[str, AfterValidator(_check_section_name)], Text] = {}


class WorkflowStepSection(ConfigurationSection):
    title: Title
    instructions: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class WorkflowSection(ConfigurationSection):
    name: Name
    description: str = ""
    steps: list[WorkflowStepSection] = []


def apply_agents(agents: Sequence[AgentSection]) -> Iterator[str]:
    rows = {}
    for item in agents:
        row = Agent.objects.filter(name=item.name).first() or Agent(name=item.name)
        if row.pk:
            AgentVersion.objects.current(row)  # store changes from the admin as a separate version
        values = item.values_in_file("name", "default", "sections", "handoffs", "roles", *SWITCHES) | _hooks(item, row)
        for field in {"model", "review_model"} & item.model_fields_set:
            values[field] = LogicalModel.objects.filter(name=values[field]).first()
        yield from save_changes(row, values, f"agent {item.name}")
        yield from _prompt_sections(row, item.sections)
        if "roles" in item.model_fields_set:
            yield from save_roles(row, item.roles, f"agent {item.name}")
        rows[item.name] = row
        if "default" in item.model_fields_set:
            yield from _set_default(row, is_default=item.default)
    for item in agents:  # after all rows exist: agents can name one another
        yield from _handoffs(rows[item.name], item)
        AgentVersion.objects.current(rows[item.name], note="From the configuration file.")


def _handoffs(row: Agent, item: AgentSection) -> Iterator[str]:
    present = set(row.handoffs.values_list("name", flat=True))
    if "handoffs" in item.model_fields_set and set(item.handoffs) != present:
        row.handoffs.set(Agent.objects.filter(name__in=item.handoffs))
        yield f"agent {row}: handoffs [{', '.join(sorted(present))}] → [{', '.join(sorted(item.handoffs))}]"


def _hooks(item: AgentSection, row: Agent) -> dict[str, list[str]]:
    """Return the list of hooks: the file's or the present one, changed by the keys for single hooks."""
    keys = item.model_fields_set
    if not keys & {"hooks", "withheld_patterns", *SWITCHES}:
        return {}
    names = list(dict.fromkeys(item.hooks if "hooks" in keys else row.hooks))
    for name in SWITCHES:
        if name in keys and name in names and not getattr(item, name):
            names.remove(name)
        elif name in keys and name not in names and getattr(item, name):
            names.append(name)
    patterns = item.withheld_patterns if "withheld_patterns" in keys else row.withheld_patterns
    if patterns and OUTPUT_FILTER not in names:
        names.append(OUTPUT_FILTER)
    return {"hooks": names}


def _prompt_sections(agent: Agent, texts: Mapping[str, str]) -> Iterator[str]:
    """Create a new version of each text that differs. Older versions stay."""
    present = dict(PromptSection.objects.texts_of(agent))
    for name, text in texts.items():
        if present.get(name, "") != text:
            PromptSection.objects.create(agent=agent, section=name, text=text)
            yield f"agent {agent}: a new version of the section {name}"


def _set_default(agent: Agent, *, is_default: bool) -> Iterator[str]:
    current = Agent.objects.default()
    if is_default == (current == agent):
        return
    Agent.objects.filter(is_default=True).update(is_default=False)
    Agent.objects.filter(pk=agent.pk).update(is_default=is_default)
    yield f"agent {agent}: is {'' if is_default else 'no longer '}the default agent"


def apply_workflows(workflows: Sequence[WorkflowSection]) -> Iterator[str]:
    for item in workflows:
        row = Workflow.objects.filter(name=item.name).first() or Workflow(name=item.name)
        yield from save_changes(row, item.values_in_file("name", "steps"), f"workflow {item.name}")
        if "steps" in item.model_fields_set:
            yield from _replace_steps(row, [step.model_dump() for step in item.steps])


def _replace_steps(workflow: Workflow, steps: Sequence[dict[str, str]]) -> Iterator[str]:
    """Replace all steps if one differs. Running tasks keep theirs."""
    if workflow.definition()["steps"] == steps:
        return
    workflow.steps.all().delete()
    WorkflowStep.objects.bulk_create(
        WorkflowStep(workflow=workflow, position=position, **step) for position, step in enumerate(steps, 1)
    )
    yield f"workflow {workflow}: {len(steps)} steps"

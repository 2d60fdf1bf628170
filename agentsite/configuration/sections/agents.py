from collections.abc import Iterator, Mapping, Sequence

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from llm_app.models import LogicalModel
from tasks_app.models import Agent, PromptSection
from tools_app.hooks.builtin import OUTPUT_FILTER

SWITCHES = ("safe_mode", "autopilot", "self_verification", "termination_review")


def apply(agents: Sequence[schema.Agent]) -> Iterator[str]:
    for item in agents:
        row = Agent.objects.filter(name=item.name).first() or Agent(name=item.name)
        values = item.given("name", "default", "sections", *SWITCHES) | _hooks(item, row)
        for field in {"model", "review_model"} & item.model_fields_set:
            values[field] = LogicalModel.objects.filter(name=values[field]).first()
        yield from put(row, values, f"agent {item.name}")
        yield from _sections(row, item.sections)
        if "default" in item.model_fields_set:
            yield from _default(row, is_default=item.default)


def _hooks(item: schema.Agent, row: Agent) -> dict[str, list[str]]:
    """The list of hooks: the file's, or the present one, as the keys for single hooks change it."""
    given = item.model_fields_set
    if not given & {"hooks", "withheld_patterns", *SWITCHES}:
        return {}
    names = dict.fromkeys(item.hooks if "hooks" in given else row.hooks)
    for name in SWITCHES:
        if name in given:
            names.update({name: None}) if getattr(item, name) else names.pop(name, None)
    if item.withheld_patterns if "withheld_patterns" in given else row.withheld_patterns:
        names[OUTPUT_FILTER] = None
    return {"hooks": list(names)}


def _sections(agent: Agent, texts: Mapping[str, str]) -> Iterator[str]:
    """A new version where the words differ; the older ones are kept."""
    present = dict(PromptSection.objects.texts_of(agent))
    for name, text in texts.items():
        if present.get(name, "") != text:
            PromptSection.objects.create(agent=agent, section=name, text=text)
            yield f"agent {agent}: a new version of the section {name}"


def _default(agent: Agent, *, is_default: bool) -> Iterator[str]:
    current = Agent.objects.default()
    if is_default == (current == agent):
        return
    Agent.objects.filter(is_default=True).update(is_default=False)
    Agent.objects.filter(pk=agent.pk).update(is_default=is_default)
    yield f"agent {agent}: is {'' if is_default else 'no longer '}the default agent"

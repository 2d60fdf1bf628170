from collections.abc import Iterator, Mapping, Sequence

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from llm_app.models import LogicalModel
from tasks_app.models import Agent, PromptSection


def apply(agents: Sequence[schema.Agent]) -> Iterator[str]:
    for item in agents:
        row = Agent.objects.filter(name=item.name).first() or Agent(name=item.name)
        values = item.given("name", "default", "sections")
        for field in {"model", "review_model"} & item.model_fields_set:
            values[field] = LogicalModel.objects.filter(name=values[field]).first()
        yield from put(row, values, f"agent {item.name}")
        yield from _sections(row, item.sections)
        if "default" in item.model_fields_set:
            yield from _default(row, is_default=item.default)


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

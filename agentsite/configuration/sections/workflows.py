from collections.abc import Iterator, Sequence

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from tasks_app.models import Workflow, WorkflowStep


def apply(workflows: Sequence[schema.Workflow]) -> Iterator[str]:
    for item in workflows:
        row = Workflow.objects.filter(name=item.name).first() or Workflow(name=item.name)
        yield from put(row, item.given("name", "steps"), f"workflow {item.name}")
        if "steps" in item.model_fields_set:
            yield from _lay_down(row, [step.model_dump() for step in item.steps])


def _lay_down(workflow: Workflow, steps: Sequence[dict[str, str]]) -> Iterator[str]:
    """All steps anew, where one differs; tasks that run keep theirs."""
    if workflow.laid_down()["steps"] == steps:
        return
    workflow.steps.all().delete()
    WorkflowStep.objects.bulk_create(
        WorkflowStep(workflow=workflow, position=place, **step) for place, step in enumerate(steps, 1)
    )
    yield f"workflow {workflow}: {len(steps)} steps"

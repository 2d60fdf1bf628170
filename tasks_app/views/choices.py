"""The agent and the workflow that a form names: any there is. A name that is none chooses nothing."""

from tasks_app.models import Agent, Workflow
from tasks_app.views.access import Request, posted


def agent(request: Request) -> Agent | None:
    return Agent.objects.filter(name=posted(request, "agent")).first()


def workflow(request: Request) -> Workflow | None:
    return Workflow.objects.usable().filter(name=posted(request, "workflow")).first()

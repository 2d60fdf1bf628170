"""The agent and the workflow that a form names: any there is. A name that is none chooses nothing."""

from tasks_app.access import Request, posted
from tasks_app.models import Agent, Workflow


def agent(request: Request) -> Agent | None:
    return Agent.objects.filter(name=posted(request, "agent")).first()


def workflow(request: Request) -> Workflow | None:
    return Workflow.objects.usable().filter(name=posted(request, "workflow")).first()

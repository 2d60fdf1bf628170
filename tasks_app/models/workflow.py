"""Workflows: named steps that a task takes in order."""

from typing import Any

from django.db import models


class WorkflowQuerySet(models.QuerySet["Workflow"]):
    def usable(self) -> "WorkflowQuerySet":
        """Filter workflows that have steps."""
        return self.filter(steps__isnull=False).distinct()


class Workflow(models.Model):
    """A workflow. A running task uses the steps as they were at its start."""

    name = models.CharField(max_length=100, unique=True)
    description = models.TextField(blank=True, help_text="For the people who choose it.")

    objects = WorkflowQuerySet.as_manager()

    class Meta:
        db_table = "workflows"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def definition(self) -> dict[str, Any]:
        """Return the copy that a task stores: {name, steps: [{title, instructions}]}."""
        return {"name": self.name, "steps": list(self.steps.values("title", "instructions"))}


class WorkflowStep(models.Model):
    workflow = models.ForeignKey(Workflow, models.CASCADE, related_name="steps")
    position = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=200)
    instructions = models.TextField(help_text="What the agent reads when the step begins.")

    class Meta:
        db_table = "workflow_steps"
        ordering = ["workflow", "position", "pk"]

    def __str__(self) -> str:
        return self.title

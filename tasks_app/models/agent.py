"""An agent: how the model of a session shall behave, as an administrator has set it up."""

from django.db import models
from django.db.models import Q

from llm_app.models import LogicalModel


class AgentQuerySet(models.QuerySet["Agent"]):
    def default(self) -> "Agent | None":
        return self.filter(is_default=True).first()


class Agent(models.Model):
    """Without a row, and for sessions without one, everything is as it ships. Read anew before each step."""

    name = models.CharField(max_length=100, unique=True)
    description = models.TextField(blank=True, help_text="For the people who choose it.")
    is_default = models.BooleanField(default=False, help_text="The agent of new sessions that name none.")
    model = models.ForeignKey(
        LogicalModel, models.SET_NULL, null=True, blank=True, help_text="Where the session names no model."
    )
    denied_tools = models.JSONField(default=list, blank=True, help_text="Names of tools that it never has.")
    prune_outputs = models.BooleanField(
        default=False,
        help_text="When a session grows too long: first leave out old tool outputs, except the newest 40,000 tokens.",
    )
    shorten_results = models.BooleanField(
        default=False, help_text="Then: say of results older than four turns only how long they were, and of what kind."
    )
    summarise = models.BooleanField(
        default=False,
        help_text="Then: have the model sum up what is cut, as a visible entry. Costs one call each time.",
    )

    objects = AgentQuerySet.as_manager()

    class Meta:
        db_table = "agents"
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["is_default"], condition=Q(is_default=True), name="one_default_agent")
        ]

    def __str__(self) -> str:
        return self.name

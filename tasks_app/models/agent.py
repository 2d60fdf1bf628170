"""An agent: how the model of a session shall behave, as an administrator has set it up."""

from uuid import UUID

from django.db import models
from django.db.models import Q

from llm_app.models import LogicalModel


class AgentQuerySet(models.QuerySet["Agent"]):
    def default(self) -> "Agent | None":
        return self.filter(is_default=True).first()

    def of_session(self, session_id: UUID) -> "Agent | None":
        """With its models: one query, whatever the session's row said when it was read."""
        return self.filter(sessions=session_id).select_related("model", "review_model").first()


class Agent(models.Model):
    """Without a row, and for sessions without one, everything is as it ships. Read anew before each step."""

    name = models.CharField(max_length=100, unique=True)
    description = models.TextField(blank=True, help_text="For the people who choose it.")
    is_default = models.BooleanField(default=False, help_text="The agent of new sessions that name none.")
    model = models.ForeignKey(
        LogicalModel, models.SET_NULL, null=True, blank=True, help_text="Where the session names no model."
    )
    denied_tools = models.JSONField(default=list, blank=True, help_text="Names of tools that it never has.")
    safe_mode = models.BooleanField(default=False, help_text="It has only safe tools, and of those only safe calls.")
    autopilot = models.BooleanField(default=False, help_text="It asks nothing back: its questions are refused.")
    self_verification = models.BooleanField(
        default=False,
        help_text="Before it hands over a result it is asked once to check it, and again after more work.",
    )
    termination_review = models.BooleanField(
        default=False, help_text="A result that says nothing, or hides what failed, is sent back, twice a task at most."
    )
    review_model = models.ForeignKey(
        LogicalModel,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The model that reviews results. Empty: fixed rules do, and cost nothing.",
    )
    withheld_patterns = models.JSONField(
        default=list,
        blank=True,
        help_text="Regular expressions: results and messages in which one is found are withheld whole. "
        "While there are any, messages are not streamed.",
    )
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

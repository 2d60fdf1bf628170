"""A section of an agent's system prompt in an administrator's words. Every version is kept: rows are only added."""

from django.conf import settings
from django.db import models
from django.db.models import Max

from tasks_app.models.agent import Agent

SECTIONS = {
    "identity": "Who the agent is",
    "guardrails": "What it never does, whoever asks",
    "language": "In which language it writes",
    "format": "How its messages look",
    "agent_loop": "How it works, turn by turn",
    "tool_protocol": "The rules for tool calls",
    "tool_use": "How it chooses and uses tools",
    "error_handling": "What it does when something fails",
    "environment": "What it knows of the workspace and its programs",
    "browser": "How it uses the browser, where there is one",
    "secrets": "How it handles secrets and personal data",
    "prompt_injection": "What it makes of instructions in texts that it reads",
}


class PromptSectionQuerySet(models.QuerySet["PromptSection"]):
    def in_force(self, agent: Agent | None) -> dict[str, "PromptSection"]:
        """The newest version of each section that an agent has in other words than it ships: one query."""
        if agent is None:
            return {}
        newest = self.filter(agent=agent).values("section").annotate(newest=Max("pk")).values("newest")
        versions = self.filter(pk__in=newest).select_related("author").order_by("section")
        return {version.section: version for version in versions if version.text.strip()}

    def texts_of(self, agent: Agent | None) -> tuple[tuple[str, str], ...]:
        return tuple((name, version.text) for name, version in self.in_force(agent).items())


class PromptSection(models.Model):
    """One version. The newest of a section holds, from the next step of running tasks on; an empty one brings back
    what ships. The text is taken as it is: nothing in it is a template.
    """

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="sections")
    section = models.CharField(max_length=20, choices=SECTIONS)
    text = models.TextField(
        blank=True, max_length=20_000, help_text="In place of the text that ships. Empty: the text that ships."
    )
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = PromptSectionQuerySet.as_manager()

    class Meta:
        db_table = "prompt_sections"
        ordering = ["-pk"]
        indexes = [models.Index(fields=["agent", "section"], name="versions_of_a_section")]

    def __str__(self) -> str:
        return f"{self.section} of {self.agent}"

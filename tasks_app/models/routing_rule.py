"""Routing rules: a pattern of messages or files, and the skill, tools, agent or workflow to suggest for them."""

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Count, Q

from tasks_app.models.task import Task
from tasks_app.models.task_state import TaskState
from tasks_app.models.tool_call import CallStatus, ToolCallLog

MAX_PATTERN_CHARS = 1000  # characters of a regular expression


class RuleMatch(models.TextChoices):
    WORDS = "words", "Words"
    REGEX = "regex", "Regular expression"
    MEANING = "meaning", "Nearness of meaning"
    FILES = "files", "Files of the workspace"


class RuleTarget(models.TextChoices):
    NOTHING = "", "Nothing but the text"
    SKILL = "skill", "Skill"
    GROUP = "group", "Group of tools"
    AGENT = "agent", "Agent"
    WORKFLOW = "workflow", "Workflow"


class RoutingRule(models.Model):
    """A rule. If it matches, the task begins with a visible reminder; the rule hides and loads nothing."""

    name = models.CharField(
        max_length=100, unique=True, help_text="The kind of task, as the agent reads it: “research”."
    )
    enabled = models.BooleanField(default=True)
    match = models.CharField(max_length=7, choices=RuleMatch, default=RuleMatch.WORDS)
    pattern = models.TextField(
        help_text="Words: one alternative per line. The message must contain all its words; a * at the end of a "
        "word stands for any ending. Regular expression: one, ignoring case. Meaning: one example of a "
        "message per line. Files: one name per line, such as *.csv, or tests/ for a folder; of the first two levels.",
    )
    closeness = models.FloatField(
        default=0.5,
        validators=[MinValueValidator(0.1), MaxValueValidator(1)],
        help_text="Meaning only: how near a message must be to an example, from 0 to 1.",
    )
    target = models.CharField(max_length=8, choices=RuleTarget, blank=True, default=RuleTarget.NOTHING)
    target_name = models.CharField(
        "name", max_length=100, blank=True, help_text="Name of the skill, group, agent or workflow."
    )
    text = models.TextField(blank=True, max_length=4000, help_text="How to go about such a task, for the agent.")
    fault = models.TextField(blank=True, editable=False, help_text="Why the rule could not be checked the last time.")

    class Meta:
        db_table = "routing_rules"
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=Q(match__in=RuleMatch.values), name="routing_rule_match_known"),
            models.CheckConstraint(condition=Q(target__in=RuleTarget.values), name="routing_rule_target_known"),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Check target and pattern. Raises ValidationError."""
        if bool(self.target) != bool(self.target_name):
            raise ValidationError({"target_name": "Choose what is meant, and write its name; or leave both empty."})
        if not self.target and not self.text.strip():
            raise ValidationError({"text": "A rule without a target needs a text."})
        if self.match == RuleMatch.REGEX:
            if len(self.pattern) > MAX_PATTERN_CHARS:
                raise ValidationError({"pattern": f"Write at most {MAX_PATTERN_CHARS} characters."})
            import regex  # 2 MB that few installations need

            try:
                regex.compile(self.pattern)
            except regex.error as error:
                raise ValidationError({"pattern": f"This is no regular expression: {error}."}) from error

    def lines(self) -> list[str]:
        return [line.strip() for line in self.pattern.splitlines() if line.strip()]

    def outcome(self) -> dict[str, int]:
        """Count the tasks in which the rule fired, and of these the ones that are `done`, `failed`, and `used` its
        target.
        """
        tasks = Task.objects.filter(routed__rule=self)
        counts = tasks.aggregate(
            fired=Count("pk"),
            done=Count("pk", filter=Q(state=TaskState.DONE)),
            failed=Count("pk", filter=Q(state=TaskState.FAILED)),
        )
        return {**counts, "used": self._tasks_using_target(tasks).count()}

    def _tasks_using_target(self, tasks: "models.QuerySet[Task]") -> "models.QuerySet[Task]":
        if self.target == RuleTarget.WORKFLOW:
            return tasks.filter(workflow__name=self.target_name)
        tools = {
            RuleTarget.SKILL: ["skill"],
            RuleTarget.GROUP: ["load_tools"],
            RuleTarget.AGENT: ["delegate", "handoff"],
        }.get(RuleTarget(self.target), [])
        calls = ToolCallLog.objects.filter(status=CallStatus.SUCCEEDED, task__in=tasks)
        names_target = Q(name__in=tools, arguments__contains=f'"{self.target_name}"')
        if self.target == RuleTarget.AGENT:
            names_target |= Q(name=f"ask_{self.target_name}")
        return tasks.filter(pk__in=calls.filter(names_target).values("task"))


class FiredRule(models.Model):
    """A task in which a rule has fired."""

    rule = models.ForeignKey(RoutingRule, models.CASCADE, related_name="fired")
    task = models.ForeignKey(Task, models.CASCADE, related_name="routed")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "fired_rules"
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["rule", "task"], name="rule_fires_once_per_task")]

    def __str__(self) -> str:
        return f"{self.rule} in {self.task_id}"

"""Agents: an administrator's settings for the behaviour of a session's model, and their pictures."""

import hashlib
import zlib
from functools import cache, lru_cache
from io import BytesIO
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Exists, Max, OuterRef, Q
from django.urls import reverse
from django.utils.html import escape

from llm_app.models import LogicalModel
from llm_app.sql import cached_sql, fetch_first
from tools_app.hooks import OUTPUT_FILTER, SAFE_MODE
from tools_app.shell import Restrictions

MARKS = {
    "search": "Lens",
    "tools": "Sliders",
    "chart": "Chart",
    "edit": "Pen",
    "panel": "Page",
    "question": "Question mark",
    "shield": "Shield",
    "inbox": "Inbox",
    "thought": "Thought",
    "folder": "Folder",
    "key": "Key",
    "branch": "Branch",
}
PICTURE_EDGE = 192  # pixels per side of an uploaded picture
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">'
    '<rect width="40" height="40" rx="11" fill="hsl({hue} 40% 40%)"/>{inside}</svg>'
)
_LETTERS = (
    '<text x="20" y="26" font-family="system-ui,sans-serif" font-size="16" font-weight="600" '
    'text-anchor="middle" fill="#fff">{}</text>'
)
_ICON = (
    '<g transform="translate(8 8)" fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" '
    'stroke-linejoin="round">{}</g>'
)


class AgentPicture(models.Model):
    """A PNG of at most 192 pixels a side, encoded by our own encoder from an upload."""

    agent = models.OneToOneField("tasks_app.Agent", models.CASCADE, primary_key=True, related_name="uploaded_picture")
    png = models.BinaryField()

    class Meta:
        db_table = "agent_pictures"

    def __str__(self) -> str:
        return f"Picture of {self.agent}"

    @classmethod
    def thumbnail(cls, encoded: bytes) -> "AgentPicture":
        """Return an unsaved picture. `encoded` comes from our own encoder: uploads are decoded in a separate
        process.
        """
        from PIL import Image

        with Image.open(BytesIO(encoded)) as picture:
            picture.thumbnail((PICTURE_EDGE, PICTURE_EDGE))
            picture.convert("RGBA").save(file := BytesIO(), "PNG")
        return cls(png=file.getvalue())

    def assign_to(self, agent: Any) -> None:
        """Save this as the agent's picture and replace an earlier one."""
        self.agent = agent
        self.save(force_insert=not type(self).objects.filter(agent=agent).exists())
        agent.picture = hashlib.sha256(self.png).hexdigest()
        agent.save(update_fields=["picture"])


@lru_cache(maxsize=256)
def generated_picture_url(name: str, mark: str) -> str:
    """Return a drawn picture as a data URI, which costs no request. The colour depends only on the name."""
    name_parts = name.split()
    initials = (name_parts[0][:1] + name_parts[1][:1] if len(name_parts) > 1 else name[:2]).upper()
    inside = _ICON.format(_icons()[mark]) if mark in _icons() else _LETTERS.format(escape(initials))
    hue = zlib.crc32(name.encode()) % 360
    return "data:image/svg+xml," + quote(_SVG.format(hue=hue, inside=inside), safe=" =:/")


@cache
def _icons() -> dict[str, str]:
    text = (settings.BASE_DIR / "static" / "icons.svg").read_text()
    icons = {}
    for symbol in text.split('<symbol id="')[1:]:
        opening, _, inside = symbol.partition(">")
        icons[opening.partition('"')[0]] = inside.partition("</symbol>")[0]
    return icons


class AgentQuerySet(models.QuerySet["Agent"]):
    def default(self) -> "Agent | None":
        return self.filter(is_default=True).first()

    @cached_sql
    def find_default(self, user_id: int) -> "Agent | None":
        """Return the default agent if the user can use it."""
        return fetch_first(self.usable_by(user_id).filter(is_default=True))

    def with_models(self) -> "AgentQuerySet":
        return self.select_related("model", "review_model")

    def usable_by(self, user_id: int | None) -> "AgentQuerySet":
        """Filter agents by the user's roles. An agent that names a model needs the user's permission for it."""
        models = LogicalModel.objects.visible_to(user_id)
        return self.for_roles_of(user_id).filter(Q(model=None) | Q(model__in=models))

    def for_roles_of(self, user_id: int | None) -> "AgentQuerySet":
        """Filter agents without roles and agents with one of the user's roles."""
        agent_roles = Agent.roles.through.objects.filter(agent=OuterRef("pk"))
        return self.filter(
            ~Exists(agent_roles) | Exists(agent_roles.filter(group__in=get_user_model().roles_of(user_id)))
        )


class Agent(models.Model):
    """The settings of an agent, read again before each step. Sessions without an agent use the defaults."""

    name = models.CharField(max_length=100, unique=True)
    description = models.TextField(blank=True, help_text="For the people who choose it.")
    mark = models.CharField(
        max_length=20,
        blank=True,
        choices=MARKS,
        help_text="The symbol in its picture. Empty: the first letters of its name.",
    )
    picture = models.CharField(max_length=64, blank=True, editable=False, help_text="The hash of an uploaded one.")
    instructions = models.TextField(
        blank=True, max_length=20_000, help_text="What it is for and how it works, in your words. Part of its prompt."
    )
    roles: "models.ManyToManyField[Any, Any]" = models.ManyToManyField(
        Group,
        blank=True,
        related_name="+",
        help_text="Members of these roles can choose it. Without roles, everyone can.",
    )
    is_default = models.BooleanField(default=False, help_text="Used for new sessions that name no agent.")
    model = models.ForeignKey(
        LogicalModel, models.SET_NULL, null=True, blank=True, help_text="Used where the session names no model."
    )
    denied_tools = models.JSONField(default=list, blank=True, help_text="Names of tools that it may never use.")
    skills = models.JSONField(
        default=list, blank=True, help_text="Names of the skills that it can see. Empty: all skills of the person."
    )
    max_iterations = models.PositiveIntegerField(
        null=True, blank=True, help_text="Steps that a task with this agent may take. Empty: the general limit."
    )
    restricted_paths = models.JSONField(
        default=list,
        blank=True,
        help_text="Files and folders of the workspace that its calls may not name: .env, *.pem, private/*.",
    )
    blocked_commands = models.JSONField(
        default=list,
        blank=True,
        help_text="Programs that its commands may not run, alone or with an argument: curl, git push.",
    )
    environments = models.JSONField(
        default=list,
        blank=True,
        help_text="Folders of the server with a bin folder, such as a Python environment, that its commands see "
        "read-only; their programs come before the system's.",
    )
    hooks = models.JSONField(
        default=list,
        blank=True,
        help_text="Names of the hooks that check its calls, besides the plugins that check every agent's.",
    )
    review_model = models.ForeignKey(
        LogicalModel,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The model that reviews results. Empty: fixed rules review them, at no cost.",
    )
    withheld_patterns = models.JSONField(
        default=list,
        blank=True,
        help_text="Regular expressions for the output filter. If there are any, the filter is on and messages "
        "are not streamed.",
    )
    prune_outputs = models.BooleanField(
        default=False,
        help_text="When a session gets too long, first leave out old tool results, except the newest 40,000 tokens.",
    )
    shorten_results = models.BooleanField(
        default=False, help_text="Then replace results older than four turns by their length and kind."
    )
    delegates = models.BooleanField(
        default=False, help_text="Models see the tool delegate: independent parts of a task become tasks of their own."
    )
    helpers = models.JSONField(
        default=list,
        blank=True,
        help_text="Names of agents that are offered to it as tools: researcher becomes ask_researcher.",
    )
    summarise = models.BooleanField(
        default=False,
        help_text="Then have the model summarize what is cut, as a visible entry. This costs one call each time.",
    )

    handoffs: "models.ManyToManyField[Any, Any]" = models.ManyToManyField(
        "self",
        symmetrical=False,
        blank=True,
        related_name="+",
        help_text="Agents to which it can hand over a conversation, until they answer.",
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

    def save(self, **options: Any) -> None:
        """Save the agent, and turn the output filter on if there are patterns for it."""
        if self.withheld_patterns and OUTPUT_FILTER not in self.hooks:
            self.hooks = [*self.hooks, OUTPUT_FILTER]
            if options.get("update_fields") is not None:
                options["update_fields"] = [*options["update_fields"], "hooks"]
        super().save(**options)

    @property
    def picture_url(self) -> str:
        if self.picture:
            return f"{reverse('agent_picture', args=[self.pk])}?{self.picture[:12]}"
        return generated_picture_url(self.name, self.mark)

    @property
    def about(self) -> str:
        """The first line of the description."""
        return next(iter(self.description.strip().splitlines()), "")

    @property
    def restrictions(self) -> Restrictions:
        return Restrictions(paths=self.restricted_paths, commands=self.blocked_commands)

    @property
    def safe_only(self) -> bool:
        """Return whether the agent may use only safe tools."""
        return SAFE_MODE in self.hooks


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
    def current_versions(self, agent: Agent | None) -> dict[str, "PromptSection"]:
        """Return the newest version of each section that the agent overrides, by name, with one query."""
        if agent is None:
            return {}
        newest = self.filter(agent=agent).values("section").annotate(newest=Max("pk")).values("newest")
        versions = self.filter(pk__in=newest).select_related("author").order_by("section")
        return {version.section: version for version in versions if version.text.strip()}

    def texts_of(self, agent: Agent | None) -> tuple[tuple[str, str], ...]:
        return tuple((name, version.text) for name, version in self.current_versions(agent).items())


class PromptSection(models.Model):
    """One version of a section of an agent's prompt. The newest version applies, from the next step of running tasks
    on.

    An empty text restores the built-in one. The text is not a template. The text of `guardrails` is added to the
    built-in text; the others replace it.
    """

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="sections")
    section = models.CharField(max_length=20, choices=SECTIONS)
    text = models.TextField(
        blank=True,
        max_length=20_000,
        help_text="Replaces the built-in text; the guardrails are added to it. Empty: the built-in text is used.",
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

"""MCP servers, which only administrators can add, and the tools that they list."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q

from tools_app.models.policy import DangerLevel


class McpTransport(models.TextChoices):
    STDIO = "stdio", "A program on this server (stdio)"
    HTTP = "streamable_http", "A URL (streamable HTTP)"


class McpServerQuerySet(models.QuerySet["McpServer"]):
    def usable_by(self, user_id: int) -> "McpServerQuerySet":
        """Return the enabled servers that the user can use."""
        user_roles = get_user_model().roles_of(user_id)
        return self.filter(Q(roles=None) | Q(roles__in=user_roles), enabled=True)

    def unreachable(self) -> "McpServerQuerySet":
        """Return the servers whose tools could not be listed the last time."""
        return self.exclude(fault="").distinct()


class McpServer(models.Model):
    """An MCP server. A program runs with the rights of this server: choose it as carefully as software to install."""

    name = models.CharField(
        max_length=30, unique=True, validators=[RegexValidator(r"^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*\Z")]
    )
    description = models.CharField(max_length=300, blank=True, help_text="Tells the model what its tools are for.")
    transport = models.CharField(max_length=15, choices=McpTransport)
    command = models.JSONField(default=list, blank=True, help_text='For stdio: ["python", "-m", "some_server"].')
    environment = models.JSONField(default=dict, blank=True, help_text='For stdio: {"NAME": "value"}. Not for secrets.')
    url = models.CharField(max_length=500, blank=True, validators=[RegexValidator(r"^https?://[^\s/]")])
    headers = models.JSONField(default=dict, blank=True, help_text='For a URL: {"Name": "value"}. Not for secrets.')
    credential = models.CharField(
        max_length=100,
        blank=True,
        help_text="The name of a secret, each user's own or the team's. It is sent as a bearer token "
        "or, for stdio, set as an environment variable of this name.",
    )
    timeout_s = models.PositiveIntegerField(default=60, validators=[MinValueValidator(1)])
    danger = models.CharField(max_length=10, choices=DangerLevel, default=DangerLevel.MODERATE)
    trusts_annotations = models.BooleanField(
        "trust the server's annotations",
        default=False,
        help_text="Calls of tools that the server calls read-only then run without approval. Tools that it calls "
        "destructive always ask for approval.",
    )
    roles = models.ManyToManyField(
        Group, blank=True, related_name="+", help_text="Whose members may use its tools. None: everyone."
    )
    loop_exempt = models.JSONField(
        default=list,
        blank=True,
        help_text="Tools that may be called with the same arguments any number of times, for example to ask how far a "
        'job is: ["status"].',
    )
    enabled = models.BooleanField(default=True)
    listed_at = models.DateTimeField(null=True, blank=True, editable=False)
    fault = models.TextField(blank=True, editable=False, help_text="Why its tools could not be listed.")
    skipped = models.JSONField(
        default=dict, blank=True, editable=False, help_text="Tools that cannot be used, with the reasons."
    )

    objects = McpServerQuerySet.as_manager()

    class Meta:
        db_table = "mcp_servers"
        ordering = ["name"]
        verbose_name = "MCP server"
        constraints = [
            models.CheckConstraint(condition=Q(transport__in=McpTransport.values), name="mcp_transport_known"),
            models.CheckConstraint(condition=Q(danger__in=DangerLevel.values), name="mcp_danger_known"),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Validate the fields. Empty form fields arrive as None."""
        self.command, self.loop_exempt = self.command or [], self.loop_exempt or []
        self.environment, self.headers = self.environment or {}, self.headers or {}
        if self.transport == McpTransport.STDIO and not (self.command and _is_list_of_texts(self.command)):
            raise ValidationError({"command": 'Write the program and its arguments as a list: ["python", "-m", "x"].'})
        if self.transport == McpTransport.HTTP and not self.url:
            raise ValidationError({"url": "Write the address of the server."})
        if not _is_list_of_texts(self.loop_exempt):
            raise ValidationError({"loop_exempt": 'Write the names of tools as a list: ["status"].'})
        for name in ("environment", "headers"):
            value = getattr(self, name)
            if not (isinstance(value, dict) and _is_list_of_texts([*value.keys(), *value.values()])):
                raise ValidationError({name: 'Write names and values as an object: {"NAME": "value"}.'})


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) and "\0" not in text for text in value)


class McpToolQuerySet(models.QuerySet["McpTool"]):
    def usable_by(self, user_id: int) -> "McpToolQuerySet":
        """Return the confirmed tools of servers that the user can use."""
        return self.filter(confirmed=F("digest"), is_gone=False, server__in=McpServer.objects.usable_by(user_id))


class McpTool(models.Model):
    """A tool of an MCP server. It is available only while `digest`, the current one, equals `confirmed`."""

    server = models.ForeignKey(McpServer, models.CASCADE, related_name="tools")
    name = models.CharField(max_length=100)
    own_name = models.CharField(
        max_length=200, blank=True, help_text="The server's name for it, if providers do not accept that."
    )
    description = models.TextField(blank=True)
    is_read_only = models.BooleanField(default=False, help_text="The server says that it only reads.")
    is_destructive = models.BooleanField(default=False, help_text="The server says that it can destroy data.")
    schema = models.TextField(help_text="The JSON Schema of its arguments.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of name, description and schema.")
    confirmed = models.CharField(max_length=64, blank=True, help_text="The digest that an administrator has confirmed.")
    is_gone = models.BooleanField(default=False, help_text="The server no longer lists it.")

    objects = McpToolQuerySet.as_manager()

    class Meta:
        db_table = "mcp_tools"
        ordering = ["server", "name"]
        verbose_name = "MCP tool"
        constraints = [models.UniqueConstraint(fields=["server", "name"], name="mcp_tool_once_per_server")]

    def __str__(self) -> str:
        return f"{self.server}__{self.name}"

    @property
    def needs_confirmation(self) -> bool:
        return self.confirmed != self.digest

    @property
    def danger(self) -> str:
        """Return the danger: the server's, or a stricter one of an annotation, or a looser one of a trusted server."""
        if self.is_destructive:
            return DangerLevel.DANGEROUS
        if self.is_read_only and self.server.trusts_annotations:
            return DangerLevel.SAFE
        return self.server.danger

"""Settings of tools, policies of roles and users, and the internal addresses that tools can reach."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Exists, OuterRef, Q


class ApprovalMode(models.TextChoices):
    NEVER = "never", "Never ask"
    BY_DANGER = "by_danger", "Ask when a call is dangerous"
    ALWAYS = "always", "Always ask"


class DangerLevel(models.TextChoices):
    SAFE = "safe"
    MODERATE = "moderate"
    DANGEROUS = "dangerous"


PACKAGE_HOSTS = ("files.pythonhosted.org", "pypi.org", "registry.npmjs.org")  # the hosts of pip and npm


class ToolSettingQuerySet(models.QuerySet["ToolSetting"]):
    def closed_to(self, user_id: int) -> "ToolSettingQuerySet":
        """Return the tools with roles of which the user has none."""
        allowed_roles = ToolSetting.roles.through.objects.filter(toolsetting=OuterRef("pk"))
        user_roles = allowed_roles.filter(group__in=get_user_model().roles_of(user_id))
        return self.filter(Exists(allowed_roles), ~Exists(user_roles))

    def allow_packages(self) -> "ToolSetting":
        """Let commands reach the hosts of pip and npm, in addition to those that they reach already."""
        setting, _ = self.get_or_create(name="shell")
        if not setting.can_install_packages:
            setting.hosts = [*setting.hosts, *(host for host in PACKAGE_HOSTS if host not in setting.hosts)]
            setting.save()
        return setting


class ToolSetting(models.Model):
    """Settings of one tool. A tool without a row uses the defaults of its definition."""

    name = models.CharField(max_length=100, unique=True)
    enabled = models.BooleanField(default=True)
    danger = models.CharField(
        max_length=10, choices=DangerLevel, blank=True, help_text="Overrides the tool's own level."
    )
    approval = models.CharField(max_length=10, choices=ApprovalMode, default=ApprovalMode.BY_DANGER)
    approvers = models.ForeignKey(
        Group,
        models.PROTECT,  # without the role, anyone could approve the calls
        null=True,
        blank=True,
        related_name="+",
        help_text="The role whose members may approve its calls. Empty: anyone who may write in the session.",
    )
    four_eyes = models.BooleanField(
        default=False,
        help_text="The person who started the task may not approve, and each call needs an approval of its own.",
    )
    hosts = models.JSONField(
        default=list,
        blank=True,
        help_text='For shell: the hosts that commands may reach, such as ["pypi.org", "*.pythonhosted.org"]. '
        "Empty: no network.",
    )
    roles: "models.ManyToManyField[Any, Any]" = models.ManyToManyField(
        Group, blank=True, related_name="+", help_text="Whose members may use it. None: everyone."
    )

    objects = ToolSettingQuerySet.as_manager()

    class Meta:
        db_table = "tool_settings"
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=Q(approval__in=ApprovalMode.values), name="tool_setting_approval_known"),
            models.CheckConstraint(condition=Q(danger__in=["", *DangerLevel.values]), name="tool_setting_danger_known"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def can_install_packages(self) -> bool:
        """Return whether commands reach the hosts of pip and npm."""
        return "*" in self.hosts or set(PACKAGE_HOSTS) <= set(self.hosts)


class AllowedAddress(models.Model):
    """An internal host that tools are allowed to reach."""

    address = models.CharField(max_length=255, unique=True, help_text="host or host:port")

    class Meta:
        db_table = "allowed_addresses"
        ordering = ["address"]
        verbose_name_plural = "allowed addresses"

    def __str__(self) -> str:
        return self.address


class RolePolicy(models.Model):
    """The tools that a role can use. An empty allow list means all; a denial by any role of a user wins.

    `approvals` maps names of tools to the condition for an approval, and overrides the tool's own setting: {"shell":
    "always"}.
    """

    role = models.OneToOneField(Group, models.CASCADE, related_name="tool_policy")
    allow = models.JSONField(default=list, blank=True, help_text="Names of tools. Empty: all tools.")
    deny = models.JSONField(default=list, blank=True, help_text="Names of tools.")
    approvals = models.JSONField(default=dict, blank=True)
    is_default = models.BooleanField(
        "default role", default=False, help_text="People without any role have the rights and limits of this one."
    )

    class Meta:
        db_table = "role_policies"
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"],
                condition=Q(is_default=True),
                name="one_default_role",
                violation_error_message="Another role is the default role.",
            )
        ]
        verbose_name_plural = "role policies"

    def __str__(self) -> str:
        return f"Tools of {self.role}"


class UserPolicy(models.Model):
    """Tools that one person cannot use, whatever their roles allow: denied by an administrator, or switched off by
    themselves.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tool_policy")
    deny = models.JSONField(default=list, blank=True, help_text="Names of tools.")
    switched_off = models.JSONField(
        default=list, blank=True, editable=False, help_text="Names of tools that the person does not want used."
    )

    class Meta:
        db_table = "user_policies"
        verbose_name_plural = "user policies"

    def __str__(self) -> str:
        return f"Tools of {self.user}"

"""Which tools a role or a user may use."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models


class RolePolicy(models.Model):
    """Which tools a role may use. An empty allow list means all; a denial by any role of a user wins.

    `approvals` says by name of a tool when its calls ask, in place of the tool's own setting: {"shell": "always"}.
    """

    role = models.OneToOneField(Group, models.CASCADE, related_name="tool_policy")
    allow = models.JSONField(default=list, blank=True, help_text="Names of tools; empty for all.")
    deny = models.JSONField(default=list, blank=True, help_text="Names of tools.")
    approvals = models.JSONField(default=dict, blank=True)

    class Meta:
        db_table = "role_policies"
        verbose_name_plural = "role policies"

    def __str__(self) -> str:
        return f"Tools of {self.role}"


class UserPolicy(models.Model):
    """Tools that one person does not have, whatever their roles say."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tool_policy")
    deny = models.JSONField(default=list, blank=True, help_text="Names of tools.")

    class Meta:
        db_table = "user_policies"
        verbose_name_plural = "user policies"

    def __str__(self) -> str:
        return f"Tools of {self.user}"

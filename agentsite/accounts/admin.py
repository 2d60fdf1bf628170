"""The admin of users, roles and API tokens."""

from typing import Any

from allauth.mfa.admin import Authenticator
from allauth.usersessions.admin import UserSession
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.decorators import action, display
from unfold.forms import AdminPasswordChangeForm, UserCreationForm

from agentsite.accounts import two_factor
from agentsite.accounts.admin_guards import MemberForm, ProtectedRecordMixin, ProtectedRightsMixin, ProtectedStaffMixin
from agentsite.accounts.models import ApiToken, User
from tasks_app.admin.base import LargeTable
from tools_app.admin import RolePolicyInline, UserPolicyInline

admin.site.unregister([Group, Authenticator, UserSession])  # the latter two hold keys


@admin.register(User)
class MemberAdmin(ProtectedStaffMixin, ProtectedRecordMixin, UserAdmin, LargeTable):  # type: ignore[type-arg]
    form = MemberForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", "email", "is_active", "is_staff", "is_superuser", "has_two_factor", "last_login"]
    list_filter = ["is_active", "is_staff", "groups"]
    fieldsets = (
        (None, {"fields": ("username", "password", "first_name", "last_name", "email")}),
        ("Preferences", {"fields": ("time_zone", "language", "preferences")}),
        ("Rights", {"fields": ("is_active", "groups", "is_staff", "is_superuser", "user_permissions")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    actions = ["reset_two_factor"]
    rights = ["is_staff", "is_superuser", "groups", "user_permissions"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        users: QuerySet[User] = super().get_queryset(request)
        return users.annotate(two_factor=Exists(Authenticator.objects.filter(user=OuterRef("pk"))))

    @display(description="two-factor", boolean=True, ordering="two_factor")
    def has_two_factor(self, user: Any) -> bool:
        return bool(user.two_factor)

    @action(description="Reset two-factor sign-in (lost phone)", permissions=["change"])
    def reset_two_factor(self, request: HttpRequest, users: QuerySet[User]) -> None:
        """Remove the second factor of users. They sign in with the password alone until they set it up again."""
        for user in users:
            if not self.has_change_permission(request, user):
                messages.error(request, f"Only superusers reset the second factor of {user}.")
            elif two_factor.reset(user, by=str(request.user)):
                self.log_change(request, user, "Two-factor sign-in was reset.")
                messages.success(request, f"{user} signs in with the password alone until they set it up again.")
            else:
                messages.info(request, f"{user} has no second factor.")

    def get_inlines(self, request: HttpRequest, obj: Any) -> list[Any]:
        """Return the policy of an existing user; a new one has none yet."""
        return [UserPolicyInline] if obj else []


@admin.register(Group)
class RoleAdmin(ProtectedRightsMixin, GroupAdmin, ModelAdmin):
    """Roles: Django's groups, with a tool policy each."""

    inlines = [RolePolicyInline]
    rights = ["permissions"]


@admin.register(ApiToken)
class ApiTokenAdmin(ModelAdmin):
    """API tokens, to view and revoke. Their users create them, or `manage.py token` does."""

    list_display = ["__str__", "user", "may_approve", "created", "expiry"]
    list_filter = ["may_approve"]
    list_select_related = ["user"]
    search_fields = ["name", "user__username"]
    date_hierarchy = "created"
    fields = ["name", "user", "may_approve", "created", "expiry"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

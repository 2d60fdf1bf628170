"""Admin pages for tools."""

from tools_app.admin import extensions, policy
from tools_app.admin.policy import RolePolicyInline, UserPolicyInline
from tools_app.admin.tool_names import ToolNamesField

__all__ = ["RolePolicyInline", "ToolNamesField", "UserPolicyInline", "extensions", "policy"]

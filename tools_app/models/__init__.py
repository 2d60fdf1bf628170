"""Administrators' decisions about tools, and a cache of recent searches."""

from tools_app.models.mcp import McpServer, McpTool, McpTransport
from tools_app.models.policy import (
    PACKAGE_HOSTS,
    AllowedAddress,
    ApprovalMode,
    DangerLevel,
    RolePolicy,
    ToolSetting,
    UserPolicy,
)
from tools_app.models.search import CachedSearch, SearchEngine, SearchEngineKind
from tools_app.models.skill import Skill, SkillFile

__all__ = [
    "PACKAGE_HOSTS",
    "AllowedAddress",
    "ApprovalMode",
    "CachedSearch",
    "DangerLevel",
    "McpServer",
    "McpTool",
    "McpTransport",
    "RolePolicy",
    "SearchEngine",
    "SearchEngineKind",
    "Skill",
    "SkillFile",
    "ToolSetting",
    "UserPolicy",
]

"""Administrators' decisions about tools, and a cache of recent searches."""

from tools_app.models.mcp import McpServer, McpTool, Transport
from tools_app.models.policy import AllowedAddress, Approval, DangerLevel, RolePolicy, ToolSetting, UserPolicy
from tools_app.models.search import CachedSearch, SearchEngine, SearchEngineKind
from tools_app.models.skill import Skill, SkillFile

__all__ = [
    "AllowedAddress",
    "Approval",
    "CachedSearch",
    "DangerLevel",
    "McpServer",
    "McpTool",
    "RolePolicy",
    "SearchEngine",
    "SearchEngineKind",
    "Skill",
    "SkillFile",
    "ToolSetting",
    "Transport",
    "UserPolicy",
]

"""The contract of a tool: arguments, context, result with declared effects, and the registry of all tools."""

from tools_app.contract.base import (
    Arguments,
    Danger,
    Judgement,
    Target,
    ToolContext,
    ToolDefinition,
    ToolResult,
    ToolVisibility,
)
from tools_app.contract.capabilities import Engine, McpEndpoint, ReaderService
from tools_app.contract.effects import WaitForReply
from tools_app.contract.registry import tool

__all__ = [
    "Arguments",
    "Danger",
    "Engine",
    "Judgement",
    "McpEndpoint",
    "ReaderService",
    "Target",
    "ToolContext",
    "ToolDefinition",
    "ToolResult",
    "ToolVisibility",
    "WaitForReply",
    "tool",
]

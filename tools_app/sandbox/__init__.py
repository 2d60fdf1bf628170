"""Backends that run the programs started by tools: bubblewrap, Docker, or plain processes."""

from tools_app.sandbox.base import CommandLimits, CommandOutcome, Layer, Mask, ProcessIdentity, Sandbox, ShellCommand
from tools_app.sandbox.output import BoundedOutput
from tools_app.sandbox.proxy_access import ProxyAccess

__all__ = [
    "BoundedOutput",
    "CommandLimits",
    "CommandOutcome",
    "Layer",
    "Mask",
    "ProcessIdentity",
    "ProxyAccess",
    "Sandbox",
    "ShellCommand",
]

"""Backends that run the programs started by tools: bubblewrap, Docker, or plain processes."""

from tools_app.sandbox import ports, supervision, workshop
from tools_app.sandbox.base import (
    CommandLimits,
    CommandOutcome,
    Layer,
    Mask,
    ProcessIdentity,
    Sandbox,
    ShellCommand,
    cores,
)
from tools_app.sandbox.choice import NoSandbox, choose_sandbox
from tools_app.sandbox.docker import Docker
from tools_app.sandbox.git_summary import git_summary
from tools_app.sandbox.local import Local
from tools_app.sandbox.output import BoundedOutput
from tools_app.sandbox.ports import SandboxPorts, connect
from tools_app.sandbox.probe import SandboxContents, sandbox_contents
from tools_app.sandbox.proxy_access import ProxyAccess

__all__ = [
    "BoundedOutput",
    "CommandLimits",
    "CommandOutcome",
    "Docker",
    "Layer",
    "Local",
    "Mask",
    "NoSandbox",
    "ProcessIdentity",
    "ProxyAccess",
    "Sandbox",
    "SandboxContents",
    "SandboxPorts",
    "ShellCommand",
    "choose_sandbox",
    "connect",
    "cores",
    "git_summary",
    "ports",
    "sandbox_contents",
    "supervision",
    "workshop",
]

"""Backends that run the programs started by tools: bubblewrap, Docker, or plain processes."""

from tools_app.sandbox.base import Command, Layer, Limits, Mask, Outcome, Sandbox, Started
from tools_app.sandbox.outlet import Outlet
from tools_app.sandbox.output import KeptOutput

__all__ = [
    "Command",
    "KeptOutput",
    "Layer",
    "Limits",
    "Mask",
    "Outcome",
    "Outlet",
    "Sandbox",
    "Started",
]

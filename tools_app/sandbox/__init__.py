"""Where the programs that tools start run: bubblewrap, Docker, or on the machine itself."""

from tools_app.sandbox.base import Command, Layer, Limits, Outcome, Sandbox, Started
from tools_app.sandbox.outlet import Outlet

__all__ = [
    "Command",
    "Layer",
    "Limits",
    "Outcome",
    "Outlet",
    "Sandbox",
    "Started",
]

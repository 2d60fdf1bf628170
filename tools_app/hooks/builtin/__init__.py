"""The hooks that come with the server. Each is off unless an agent's settings ask for it."""

from tools_app.hooks.builtin.autopilot import Autopilot
from tools_app.hooks.builtin.output_filter import OutputFilter
from tools_app.hooks.builtin.safe_mode import SafeMode
from tools_app.hooks.builtin.self_verification import SelfVerification
from tools_app.hooks.builtin.termination_review import TerminationReview

__all__ = ["Autopilot", "OutputFilter", "SafeMode", "SelfVerification", "TerminationReview"]

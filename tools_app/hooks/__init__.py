"""Hooks: checks of each call that administrators add to those of the tools.

They can refuse, annotate, or ask for a person's approval. None can change a call or a result.
"""

from tools_app.hooks.base import (
    Annotate,
    AskApproval,
    Call,
    CallOutcome,
    Hook,
    HookContext,
    PastCall,
    Refuse,
    Verdict,
    overrides,
    run_hook,
)
from tools_app.hooks.builtin import BUILTIN, OUTPUT_FILTER, SAFE_MODE, HookSettings
from tools_app.hooks.loading import BrokenHook, choices, hooks_for, plugins

__all__ = [
    "BUILTIN",
    "OUTPUT_FILTER",
    "SAFE_MODE",
    "Annotate",
    "AskApproval",
    "BrokenHook",
    "Call",
    "CallOutcome",
    "Hook",
    "HookContext",
    "HookSettings",
    "PastCall",
    "Refuse",
    "Verdict",
    "choices",
    "hooks_for",
    "overrides",
    "plugins",
    "run_hook",
]

"""Calls of a module in a child process, which is killed when the call is cancelled."""

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of, lines_of

__all__ = ["ChildLimits", "NoAnswer", "answer_of", "lines_of"]

"""Effects that tools declare, applied in the transaction of their result: one handler for each type of effect."""

from tasks_app.engine.effects import handlers
from tasks_app.engine.effects.registry import Changes, apply, check_handlers

__all__ = ["Changes", "apply", "handlers"]

check_handlers()

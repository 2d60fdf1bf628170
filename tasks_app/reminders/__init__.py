"""What the engine says to the model: each text once, in a file of its own. They are entries like any other.

Some come with what they are about (a result, a retry, the start of a task); `due` asks for the others before a step.
"""

from tasks_app.reminders.deferred import deferred
from tasks_app.reminders.forked import forked
from tasks_app.reminders.interruption import interruption
from tasks_app.reminders.missing_call import missing_call
from tasks_app.reminders.repetition import cycle, loop
from tasks_app.reminders.task_start import task_start
from tasks_app.reminders.unreadable_call import unreadable_call

__all__ = ["cycle", "deferred", "forked", "interruption", "loop", "missing_call", "task_start", "unreadable_call"]

from tasks_app.record import Draft, reminder
from tasks_app.run.reminders.before_step import Moment

LONG_TASK = 30  # iterations


def long_task(moment: Moment) -> Draft | None:
    """Before a step, when a task has taken many iterations; once a task."""
    if moment.task.iteration < LONG_TASK or moment.was_said("long_task"):
        return None
    text = f"You have worked for {moment.task.iteration} steps. Tell the person in one sentence how far you are."
    return reminder(text, "long_task")

from tasks_app.record import Draft, reminder
from tasks_app.run.reminders.before_step import StepState

LONG_TASK = 30  # iterations


def long_task(step: StepState) -> Draft | None:
    """Return a reminder before a step if a task has taken many iterations, once per task."""
    if step.task.iteration < LONG_TASK or step.was_given("long_task"):
        return None
    text = f"You have worked for {step.task.iteration} steps. Tell the person in one sentence how far you are."
    return reminder(text, "long_task")

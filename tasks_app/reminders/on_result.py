"""Reminders right after the result of a call that repeats what was done before."""

from collections.abc import Sequence

from tasks_app.models import ToolCallLog
from tasks_app.record.draft import Draft, reminder

LONGEST_CALL = 120  # characters that name one of the calls


def loop(name: str, times: int) -> Draft:
    """With each call that is refused because it was made too often."""
    text = (
        f"You have called `{name}` with the same arguments {times} times and it will not give another result. You are "
        "in a loop. Try another way: other arguments, another tool, or tell the person what is in the way."
    )
    return reminder(text, "loop")


def cycle(fingerprints: Sequence[str], newest: ToolCallLog, times: int) -> list[Draft]:
    """Once, right after the result that completes a sequence of two to four calls the fourth time. It refuses none.

    `fingerprints` are those of the calls that have come round, if they have. Calls of tools that may repeat themselves
    are not among them.
    """
    if not fingerprints or fingerprints[-1] != newest.fingerprint:
        return []
    logs = [*ToolCallLog.objects.filter(task=newest.task_id, fingerprint__in=fingerprints), newest]
    calls = {log.fingerprint: f"{log.name}({log.arguments})" for log in logs}
    sequence = "\n".join(f"- {_cut(calls[fingerprint])}" for fingerprint in fingerprints)
    text = (
        f"Your last calls are the same {len(fingerprints)} in turn, with the same arguments, {times} times over:\n"
        f"{sequence}\n"
        "You are going in a circle. Say to yourself what you expected from it and what came instead, then do something "
        "different: another tool, other arguments, or tell the person what is in the way."
    )
    return [reminder(text, "cycle")]


def _cut(call: str) -> str:
    line = " ".join(call.split())
    return line if len(line) <= LONGEST_CALL else line[: LONGEST_CALL - 1] + "…"

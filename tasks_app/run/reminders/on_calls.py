"""Reminders about the calls of a reply: a missing or unreadable call, several calls, or a repeated one."""

from collections.abc import Sequence

from tasks_app.models import ToolCallLog
from tasks_app.record import Draft, reminder


def missing_call(remaining: int) -> Draft:
    """Ask for a tool call after a reply without one.

    `remaining` is the number of further such replies that get a reminder.
    """
    warning = (
        f"{remaining + 1} more such replies and the task fails."
        if remaining
        else "The next such reply ends the task as failed."
    )
    text = (
        "Your reply contained no tool call, so nothing happened and the person got no answer. Every reply must "
        "contain exactly one tool call. To speak to the person, call `message`; to hand over the final answer, call "
        f'`message` with type "result". {warning}'
    )
    return reminder(text, "missing_call")


def unreadable_call(reason: str) -> Draft:
    """Report that the tool call of a reply could not be read."""
    text = f"Your tool call could not be read, so nothing was run: {reason} Send the whole call again, once."
    return reminder(text, "unreadable_call")


def cut_reply(limit: int, warning: str = "", *, is_early: bool = False) -> Draft:
    """Report that a reply was cut at the output limit, in tokens, before a tool call.

    `warning` says after how many such replies the task fails. `is_early`: the provider ended it long before the limit.
    """
    tokens = f" of {limit:,} tokens" if limit else ""
    ending = f"Your reply was cut at the limit{tokens}, so nothing was run."
    if is_early:
        ending = f"The provider ended your reply long before the limit{tokens}; nothing was run."
    text = (
        f"{ending} Say less: think and write briefly, and call one tool. If you need to write a long text, write its "
        "first part with `file`, then `append` the rest."
    )
    return reminder(f"{text} {warning}".rstrip(), "cut_reply")


LONGEST_ARGUMENTS = 200  # characters of a deferred call


def deferred(calls: Sequence[str]) -> list[Draft]:
    """List the calls of a reply that were not run, right after the result of the first one.

    `calls` are the others, as name(arguments); without any, there is no reminder. Long arguments are cut: the model
    writes the calls again anyway.
    """
    if not calls:
        return []
    lines = []
    for call in calls:
        name, bracket, arguments = call.partition("(")
        is_too_long = len(arguments) > LONGEST_ARGUMENTS + 1  # 1 for the closing bracket
        lines.append(f"- {name}{bracket}{arguments[:LONGEST_ARGUMENTS]}…)" if is_too_long else f"- {call}")
    listing = "\n".join(lines)
    text = (
        "Only the first tool call of your reply was run. These were not run; call them again, one per reply, "
        f"if they are still needed after the result above:\n{listing}"
    )
    return [reminder(text, "deferred")]


LONGEST_CALL = 120  # characters of each call in the list


def loop(name: str, times: int) -> Draft:
    """Warn the model with each call that is refused because it was made too often."""
    text = (
        f"You have called `{name}` with the same arguments {times} times, and the result will not change. You are "
        "in a loop. Try something else: other arguments, another tool, or tell the person what the problem is."
    )
    return reminder(text, "loop")


def cycle(fingerprints: Sequence[str], newest: ToolCallLog, times: int) -> list[Draft]:
    """Warn the model once, right after the result that completes a sequence of two to four calls for the fourth time.

    No call is refused. `fingerprints` are those of the repeated calls, if any. Calls of tools that are allowed to
    repeat themselves are not among them.
    """
    if not fingerprints or fingerprints[-1] != newest.fingerprint:
        return []
    logs = [*ToolCallLog.objects.filter(task=newest.task_id, fingerprint__in=fingerprints), newest]
    calls = {log.fingerprint: f"{log.name}({log.arguments})" for log in logs}
    lines = []
    for fingerprint in fingerprints:
        line = " ".join(calls[fingerprint].split())
        lines.append(f"- {line}" if len(line) <= LONGEST_CALL else f"- {line[: LONGEST_CALL - 1]}…")
    sequence = "\n".join(lines)
    text = (
        f"Your last calls repeat the same sequence of {len(fingerprints)}, with the same arguments, {times} times:\n"
        f"{sequence}\n"
        "You are in a loop. Work out what you expected and what happened instead, then do something "
        "different: another tool, other arguments, or tell the person what the problem is."
    )
    return [reminder(text, "cycle")]

"""The activity of each task at the moment of a fault, read directly afterwards from the database and the tools' log."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.faults.deployment import Deployment
from tests.faults.load import Job, states
from tests.waiting import until

Hit = dict[str, Any]


def of_hit(deployment: Deployment, jobs: Sequence[Job], is_hit: Callable[[str], bool]) -> dict[str, Hit]:
    """Return the rows of tasks whose owner was hit, by token. Each gets a `window`, the activity at that time."""
    rows = states(deployment, jobs)
    runs = deployment.tools.runs()
    held = {token: row for token, row in rows.items() if row["lease_owner"] and is_hit(row["lease_owner"])}
    for token, row in held.items():
        row["window"] = _window(deployment, token, row, runs)
    return held


def until_claimed(
    deployment: Deployment, jobs: Sequence[Job], hit: dict[str, Hit], seconds: float, took: Callable[[float], None]
) -> None:
    """Wait until each task that was hit is claimed again. `took` receives the seconds from now."""
    began, waiting = time.monotonic(), dict(hit)

    def all_claimed() -> bool:
        rows = states(deployment, jobs)
        for token in [token for token, row in waiting.items() if rows[token]["epoch"] > row["epoch"]]:
            took(time.monotonic() - began)
            del waiting[token]
        return not waiting

    until(all_claimed, seconds, 0.02)


def _window(deployment: Deployment, token: str, row: Hit, runs: Any) -> str:
    if row["state"] != "executing_tool":
        return str(row["state"])
    started = deployment.rows(
        "SELECT arguments FROM tool_call_logs WHERE task_id = ? AND status = 'started'", row["id"]
    )
    if not started:
        return "before the tool"
    ran = next(
        (runs[mark] for mark in runs if mark.startswith(f"{token}.") and f'"{mark}"' in started[-1]["arguments"]), ()
    )
    if not ran:
        return "between intent and tool"
    return "after the tool" if ran[-1].has_ended else "in the tool"

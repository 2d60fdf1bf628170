"""The JSON form of an entry, shared by REST, event streams and the output of `run_agent`."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tasks_app.models import ContextEntry

PlanStep = Mapping[str, str]  # keys: title and status


def entry_json(entry: ContextEntry) -> dict[str, Any]:
    """Return plain JSON values: ids and times as strings, null for missing values."""
    return {
        "seq": entry.seq,
        "context_type": entry.context_type,
        "in_context": entry.in_context,
        "role": entry.role,
        "content": entry.content,
        "thinking": entry.thought,
        "tool_call": call_json(entry),
        "tool_call_id": entry.tool_call_id or None,
        "images": entry.pictures,
        "metadata": entry.metadata,
        "task": str(entry.task_id),
        "created_at": entry.created_at.isoformat().replace("+00:00", "Z"),
    }


def plan_change(before: Sequence[PlanStep], after: Sequence[PlanStep]) -> dict[str, Any]:
    """Return all steps of a plan and how they differ, by title, from the steps before. Saved with the result."""
    old, new = ({step["title"]: step["status"] for step in steps} for steps in (before, after))
    return {
        "steps": list(after),
        "added": [title for title in new if title not in old],
        "removed": [title for title in old if title not in new],
        "changed": [
            {"title": title, "from": old[title], "to": status}
            for title, status in new.items()
            if title in old and old[title] != status
        ],
    }


def plan_event(entry: ContextEntry) -> dict[str, Any] | None:
    """Return the `plan` event {task, steps, added, removed, changed}, or None for an entry that changed no plan."""
    change = entry.metadata.get("plan")
    return {"task": str(entry.task_id), **change} if change else None


def call_json(entry: ContextEntry) -> dict[str, Any] | None:
    """Return {id, name, arguments} of the entry's call. Arguments that are not a JSON object stay a string."""
    call = entry.call
    return call and {**call, "arguments": _arguments(call["arguments"])}


def _arguments(text: str) -> Any:
    """Parse arguments. Text that JSON cannot represent (NaN, lone surrogates, a thousand levels) stays text."""
    try:
        value = orjson.loads(text)
        orjson.dumps(value)
    except (ValueError, TypeError):
        return text
    return value if isinstance(value, dict) else text

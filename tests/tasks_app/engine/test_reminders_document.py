"""The generated document docs/reminders.md, with each reminder as the model sees it.

`WRITE_DOCS=1 pytest` on this file writes it again.
"""

import dataclasses
import inspect
import json
import os
import pkgutil
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from django.conf import settings

from llm_app.budgets import BudgetScope, Limit, LimitState, Period
from tasks_app.models import ContextEntry, ContextType, Limits, Project, Task, ToolCallLog
from tasks_app.record import Draft, message_of
from tasks_app.run import reminders
from tasks_app.run.history import newest_of
from tasks_app.run.reminders.before_step import StepState
from tasks_app.run.reminders.on_event import InstructionFile
from tools_app.notes import Note, Passage, rendered

DOCUMENT = Path(settings.BASE_DIR) / "docs" / "reminders.md"
HEAD = """# Reminders: what the model is told, word for word

All that the engine ever says to a model, beside the system prompt and the tool list, is an entry of the record. Each of
these is shown in the chat, marked “seen by the model”, in the place where the model saw it. Each is one function below
`tasks_app/run/reminders/`, in a file named for the time at which it comes; those of `before_step` hold their trigger, too.
This page is generated from them by `tests/tasks_app/engine/test_reminders_document.py`; the names and figures in the
texts are examples.

"""
SETTINGS = {
    "missing_call": "`no_tool_call_retries` (3)",
    "handoff": "`handoff_limit` (8)",
    "loop": "`tool_loop_threshold` (5), `tool_loop_window` (20)",
    "stale_plan": "`stale_plan_after` (10 replies)",
    "same_tool": "`same_tool_after` (20 replies)",
    "budget": "`budget_reminder_percent` (80)",
    "step_limit": "`max_iterations` (60): at 10",
    "tool_limit": "`tool_call_limit` (none)",
    "window": "`compact_at_percent` (80): at 7/8 of it",
    "summary": "`summarise` of the agent (off)",
}
WORKFLOW = {
    "name": "Release",
    "steps": [{"title": t, "instructions": f"How to {t.lower()}."} for t in ("Look", "Build")],
}
PLAN = [{"title": "Read the logs", "status": "done"}, {"title": "Mend the job", "status": "in_progress"}]
REMEMBERED = rendered(
    [
        Note(number=12, text="The release goes out on Tuesdays.", of="person", written=date(2026, 11, 3)),
        Passage(path="HEARTBEAT.md", text="Look whether the nightly build passed."),
    ]
)
GERMAN = "Lies bitte die Datei und sag mir, was darin nicht stimmt."
ENGLISH = "I will read the file and then tell you what is wrong with it."


def standing() -> LimitState:
    limit = Limit(
        scope=BudgetScope.USER,
        name="ada",
        unit="usd",
        period=Period.TASK,
        most=Decimal("0.5"),
        counter=None,
        renews_at=None,
    )
    return LimitState(limit=limit, spent=Decimal("0.42"), reserved=Decimal(0))


def step(**fields: Any) -> StepState:
    """Return the state of a step. Fields that it does not have are those of the task."""
    own = {name: fields.pop(name) for name in {field.name for field in dataclasses.fields(StepState)} & fields.keys()}
    return StepState(task=Task(**fields), limits=Limits(), newest=newest_of(own.get("entries", ())), **own)


def entry(context_type: ContextType, content: str, **fields: Any) -> ContextEntry:
    role = "user" if context_type == ContextType.USER_MESSAGE else "assistant"
    return ContextEntry(context_type=context_type, role=role, content=content, **fields)


def wrong_language() -> list[ContextEntry]:
    return [entry(ContextType.USER_MESSAGE, GERMAN), entry(ContextType.AI_MESSAGE, ENGLISH)]


def interrupted_call() -> list[ContextEntry]:
    call = json.dumps({"id": "call_1", "name": "shell", "arguments": "{}"})
    return [entry(ContextType.TOOL_CALL, "", tool_call=call)]


def searches(count: int) -> list[ContextEntry]:
    calls = [{"id": "c", "name": "search", "arguments": f'{{"query": "{number}"}}'} for number in range(count)]
    return [entry(ContextType.TOOL_CALL, "", tool_call=json.dumps(call)) for call in calls]


def cycle_of_two() -> list[Draft]:
    read = ToolCallLog(name="file", arguments='{"action": "read", "path": "a.txt"}', fingerprint="one")
    make = ToolCallLog(name="shell", arguments='{"command": "make"}', fingerprint="two")
    with patch.object(ToolCallLog.objects, "filter", return_value=[read]):
        return reminders.cycle(["one", "two"], make, 4)


def examples() -> list[Draft | None]:
    start = datetime(2026, 11, 22, tzinfo=UTC)
    git = "Git: on branch main.\nChanged files: 1 (M app.py).\nLast commits: 1a2b3c4 Add the form; 5d6e7f8 Start."
    instructions = InstructionFile(path="AGENTS.md", text="Use tabs. Run the tests before you commit.")
    of_folder = InstructionFile(path="website/AGENTS.md", text="Run npm test before you commit.")
    return [
        reminders.task_start(start, "notes.txt (1.2 kB)", instructions, REMEMBERED, git=git),
        reminders.routing(
            [("research", "Load the skill `sources` with `skill` before you begin.", "Name your sources.")]
        ),
        reminders.delegated(),
        reminders.recalled(REMEMBERED),
        reminders.folder_instructions(of_folder),
        reminders.project(step(project=Project(name="Lunar lander", instructions="Answer in metric units."))),
        reminders.workflow_step(WORKFLOW, 0),
        reminders.workflow_step(WORKFLOW, 1),
        reminders.handoff("Researcher", "Writer", "The sources are in sources.md, with what each is good for."),
        reminders.missing_call(2),
        reminders.missing_call(0),
        reminders.unreadable_call("your reply ended before its arguments; write {} where there are none."),
        reminders.cut_reply(4_000),
        reminders.cut_reply(4_000, "Cut again: 2 more such replies and the task fails."),
        *reminders.deferred(['shell({"command": "make test"})', 'plan({"action": "advance"})']),
        reminders.loop("shell", 5),
        *cycle_of_two(),
        *reminders.interruption(interrupted_call(), has_closed=True),
        *reminders.interruption([entry(ContextType.AI_MESSAGE, ENGLISH)], has_closed=False),
        reminders.language(step(entries=wrong_language())),
        reminders.stale_plan(step(plan=PLAN, iteration=10, tools=["plan"])),
        reminders.same_tool(step(entries=searches(20), iteration=20)),
        reminders.tool_list(
            step(
                shown_tools=["file", "library", "message", "notes__add", "shell"],
                tools=["file", "handoff", "load_tools", "message"],
                permitted=["file", "handoff", "library", "load_tools", "message", "notes__add"],
                groups={"notes": ["notes__add"]},
            )
        ),
        reminders.step_limit(step(iteration=50, max_iterations=60)),
        reminders.tool_limit(step(calls_made=40, has_made_all_calls=True)),
        reminders.forked(2, ["data.bin"]),
        reminders.forked(0, begins_later=True),
        reminders.left_out(1),
        reminders.left_out(2),
        reminders.imported("ChatGPT"),
        reminders.undone(["notes.md", "src/app.py"]),
        reminders.deleted(["draft.md"]),
        reminders.jobs_ended({1: "Job 1 ended with exit code 1 after 63.2 s.", 2: ""}, [1]),
        reminders.budget(step(limit_states=[standing()])),
        reminders.window({}, 0),
        reminders.summary(1, 120, "The tests of main.go fail since the clock was changed; the cause is in clock.go."),
    ]


def seen(draft: Draft) -> str:
    """Return the message of a request."""
    entry = ContextEntry(context_type=draft.context_type, content=draft.content, in_context=draft.in_context)
    return message_of(entry).content


def kind(draft: Draft) -> str:
    return str(draft.metadata.get("kind", draft.context_type))


def document() -> str:
    shown = [draft for draft in examples() if draft is not None]
    kinds = list(dict.fromkeys(map(kind, shown)))
    rows = [f"| [{name}](#{name}) | {when(name)} | {SETTINGS.get(name, '')} |" for name in kinds]
    table = "\n".join(["| reminder | content and time | setting |", "| --- | --- | --- |", *rows])
    texts = []
    for name in kinds:
        blocks = [f"```text\n{seen(draft)}\n```" for draft in shown if kind(draft) == name]
        texts.append("\n\n".join([f"## {name}", *blocks]))
    return HEAD + "\n\n".join([table, *texts]) + "\n"


def when(name: str) -> str:
    """Return the first paragraph of the function's docstring."""
    return " ".join((getattr(reminders, name).__doc__ or "").strip().split("\n\n")[0].split())


def test_the_document_matches_the_functions():
    if os.environ.get("WRITE_DOCS"):
        DOCUMENT.write_text(document())
    assert DOCUMENT.read_text() == document(), "WRITE_DOCS=1 with this test writes it anew"


def test_every_reminder_is_in_the_document():
    assert {kind(draft) for draft in examples() if draft is not None} == set(reminders.__all__)


def test_each_reminder_is_in_one_of_the_modules():
    modules = [import_module(f"tasks_app.run.reminders.{m.name}") for m in pkgutil.iter_modules(reminders.__path__)]
    own = {name for module in modules for name, function in vars(module).items() if returns_draft(function, module)}
    assert own == set(reminders.__all__)


def returns_draft(function: object, module: ModuleType) -> bool:
    """Return whether it is a public function of the module that makes a reminder."""
    if not inspect.isfunction(function) or function.__module__ != module.__name__ or function.__name__ == "due":
        return False
    return not function.__name__.startswith("_") and "Draft" in str(inspect.signature(function).return_annotation)

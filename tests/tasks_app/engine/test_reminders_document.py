"""docs/reminders.md says what the model sees of each reminder: made from the functions, so it cannot go stale.

`WRITE_DOCS=1 pytest` on this file writes it anew.
"""

import os
import pkgutil
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path

from django.conf import settings

from llm_app.budgets.limits import Limit, Scope
from llm_app.budgets.periods import Period
from llm_app.budgets.standing import Standing
from tasks_app import reminders
from tasks_app.models import ContextEntry
from tasks_app.record.draft import Draft
from tasks_app.record.serialize import message_of
from tasks_app.reminders.budget import budget
from tasks_app.reminders.language import language
from tasks_app.reminders.stale_plan import stale_plan
from tasks_app.reminders.summary import summary
from tasks_app.reminders.tool_limit import tool_limit
from tasks_app.reminders.tool_list import tool_list
from tasks_app.reminders.workflow_step import workflow_step
from tools_app.notes import Note, Passage, rendered

DOCUMENT = Path(settings.BASE_DIR) / "docs" / "reminders.md"
HEAD = """# Reminders: what the model is told, word for word

All that the engine ever says to a model, beside the system prompt and the tool list, is an entry of the record. Each of
these stands in the chat, marked “seen by the model”, in the place where the model saw it. Each has a file below
`tasks_app/reminders/`, with its trigger and its text. This page is made from those files by
`tests/tasks_app/engine/test_reminders_document.py`; the names and figures in the texts are examples.

"""
SETTINGS = {
    "missing_call": "`no_tool_call_retries` (3)",
    "loop": "`tool_loop_threshold` (5), `tool_loop_window` (20)",
    "stale_plan": "`stale_plan_after` (10 replies)",
    "budget": "`budget_reminder_percent` (80)",
    "tool_limit": "`tool_call_limit` (none)",
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


def standing() -> Standing:
    limit = Limit(
        scope=Scope.USER, name="ada", unit="usd", period=Period.TASK, most=Decimal("0.5"), counter=None, renews_at=None
    )
    return Standing(limit=limit, spent=Decimal("0.42"), reserved=Decimal(0))


def examples() -> list[tuple[str, Draft | None]]:
    """Each with the file that it comes from."""
    start = datetime(2026, 11, 22, tzinfo=UTC)
    return [
        (
            "task_start",
            reminders.task_start(start, "notes.txt (1.2 kB)", "Use tabs. Run the tests before you commit.", REMEMBERED),
        ),
        ("workflow_step", workflow_step(WORKFLOW, 0)),
        ("workflow_step", workflow_step(WORKFLOW, 1)),
        ("missing_call", reminders.missing_call(2)),
        ("missing_call", reminders.missing_call(0)),
        ("unreadable_call", reminders.unreadable_call("your reply reached the output limit before its arguments.")),
        ("deferred", reminders.deferred(['shell({"command": "make test"})', 'plan({"action": "advance"})'])),
        ("repetition", reminders.loop("shell", 5)),
        ("repetition", reminders.cycle(['file({"action": "read", "path": "a.txt"})', 'shell({"command": "make"})'], 4)),
        ("interruption", reminders.interruption("the call of `shell`: its result says how far it came")),
        ("interruption", reminders.interruption("what you were saying: the person saw it up to the break")),
        ("language", language(ENGLISH, GERMAN)),
        ("stale_plan", stale_plan(PLAN, 10)),
        ("tool_list", tool_list(["file", "message", "shell"], ["file", "message", "recall"])),
        ("tool_limit", tool_limit(40)),
        ("forked", reminders.forked(2)),
        ("budget", budget([standing()], 80)),
        (
            "summary",
            summary(1, 120, "The tests of main.go fail since the clock was changed; the cause is in clock.go."),
        ),
    ]


def seen(draft: Draft) -> str:
    """The message of a request."""
    entry = ContextEntry(context_type=draft.context_type, content=draft.content, in_context=draft.in_context)
    return message_of(entry).content


def kind(draft: Draft) -> str:
    return str(draft.metadata.get("kind", draft.context_type))


def document() -> str:
    shown = [(file, draft) for file, draft in examples() if draft is not None]
    kinds = dict.fromkeys((file, kind(draft)) for file, draft in shown)
    rows = [f"| [{name}](#{name}) | {when(file, name)} | {SETTINGS.get(name, '')} |" for file, name in kinds]
    table = "\n".join(["| reminder | when | setting |", "| --- | --- | --- |", *rows])
    texts = []
    for _, name in kinds:
        blocks = [f"```text\n{seen(draft)}\n```" for _, draft in shown if kind(draft) == name]
        texts.append("\n\n".join([f"## {name}", *blocks]))
    return HEAD + "\n\n".join([table, *texts]) + "\n"


def when(file: str, name: str) -> str:
    """The first sentence of what the file says of itself; of the function, where a file has two."""
    module = import_module(f"tasks_app.reminders.{file}")
    source = getattr(module, name) if file == "repetition" else module
    return " ".join((source.__doc__ or "").strip().split("\n\n")[0].split())


def test_the_document_is_what_the_functions_say():
    if os.environ.get("WRITE_DOCS"):
        DOCUMENT.write_text(document())
    assert DOCUMENT.read_text() == document(), "WRITE_DOCS=1 with this test writes it anew"


def test_every_reminder_has_its_place_in_it():
    files = {module.name for module in pkgutil.iter_modules(reminders.__path__)}
    assert {file for file, _ in examples()} == files - {"due"}

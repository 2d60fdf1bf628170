"""A database of an older day is migrated to this one: every request in it can be rebuilt, and every chain is whole."""

import lzma
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.recorded import FILE, KEYS
from tests.recorded.scenes import PROTOCOLS, SECRET, TEAMS
from tests.server import ROOT

EACH = len(PROTOCOLS)
NATIVE = 3  # protocols in which a reply may have several calls
HAS = {  # what is counted, and how often it is there at least
    "context_cuts": EACH,
    "llm_logs WHERE cut_seq > 0": EACH,
    "sessions WHERE parent_id IS NOT NULL": EACH,
    "approvals WHERE decision = 'approved' AND consumed_at IS NOT NULL": EACH,
    "approvals WHERE decision = 'rejected'": EACH,
    "task_context WHERE context_type = 'ai_message' AND json_extract(metadata, '$.status') = 'interrupted'": EACH,
    "task_context WHERE context_type = 'tool_result' AND json_extract(metadata, '$.status') = 'interrupted'": EACH,
    "task_context WHERE context_type = 'tool_result' AND json_extract(metadata, '$.author') = 'otto'": EACH,
    "tasks WHERE other_authors <> '[]'": EACH,
    "llm_logs WHERE status = 'failed' AND error LIKE '%429%'": EACH,
    "task_context WHERE json_extract(metadata, '$.discarded')": EACH,
    "task_context WHERE context_type = 'no_tool_call_retry'": EACH,
    "task_context WHERE json_extract(metadata, '$.kind') = 'deferred'": NATIVE,
    "task_context WHERE context_type = 'user_message' AND images <> ''": EACH,
    "task_context WHERE context_type = 'tool_result' AND images <> ''": EACH,
    "tasks WHERE stopped": EACH,
    "task_context WHERE content LIKE '%[secret:OWN]%'": EACH,
    "llm_logs WHERE masked_spans <> '[]'": EACH,
    "task_context WHERE context_type = 'workflow_step'": 2,
    "memory_notes": 1,
}


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "recorded.sqlite3"
    path.write_bytes(lzma.decompress(FILE.read_bytes()))
    return path


@pytest.fixture
def rows(recorded: Path) -> Callable[[str], list[Any]]:
    def ask(query: str) -> list[Any]:
        with closing(sqlite3.connect(recorded)) as database:
            return database.execute(query).fetchall()

    return ask


def test_everything_is_in_it(rows: Callable[[str], list[Any]], recorded: Path) -> None:
    lacking = {what: least for what, least in HAS.items() if rows(f"SELECT count(*) FROM {what}")[0][0] < least}
    assert not lacking
    succeeded = {adapter for (adapter,) in rows("SELECT DISTINCT adapter FROM llm_logs WHERE status = 'succeeded'")}
    assert succeeded == {*PROTOCOLS, "scripted"}
    assert not [value for value in (SECRET, TEAMS) if value.encode() in recorded.read_bytes()]


def test_it_is_whole_after_all_migrations(rows: Callable[[str], list[Any]], recorded: Path) -> None:
    sessions, entries, calls = (
        rows(f"SELECT count(*) FROM {table}")[0][0] for table in ("sessions", "task_context", "llm_logs")
    )
    _manage(recorded, "migrate", "--verbosity=0")
    said = _manage(recorded, "replay", "--all", "--verify", "--no-color")
    assert said == f"{calls:,} calls rebuilt, 0 mismatches. {sessions} chains of {entries:,} entries, 0 broken.\n"


def test_what_an_agents_switches_said_is_carried_over(rows: Callable[[str], list[Any]], recorded: Path) -> None:
    with closing(sqlite3.connect(recorded)) as database:
        database.execute("UPDATE agents SET safe_mode = 1, termination_review = 1, withheld_patterns = '[\"x\"]'")
        database.commit()
    _manage(recorded, "migrate", "--verbosity=0")
    assert rows("SELECT name, hooks FROM agents") == [("Clerk", '["safe_mode", "termination_review", "output_filter"]')]
    _manage(recorded, "migrate", "tasks_app", "0004", "--verbosity=0")
    assert rows("SELECT safe_mode, autopilot, self_verification, termination_review FROM agents") == [(1, 0, 0, 1)]


def _manage(database: Path, *arguments: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "AGENTSITE_VAR": str(database.parent),
        "DATABASE_URL": f"sqlite:///{database}",
        **KEYS,
    }
    command = [sys.executable, "manage.py", *arguments]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout

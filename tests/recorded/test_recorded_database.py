"""The migration of a recorded database: every request in it can be rebuilt, and every chain is intact."""

import lzma
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.recorded import FILE, KEYS
from tests.recorded.scenes import PROTOCOLS, SECRET, TEAMS
from tests.server import ROOT

EACH = len(PROTOCOLS)
NATIVE = 3  # protocols in which a reply can have several calls
HAS = {  # the least count of each kind
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


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "recorded.sqlite3"
    path.write_bytes(lzma.decompress(FILE.read_bytes()))
    return path


Older = tuple[Path, list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def older(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Older:
    """The recorded database with additions: an agent's old switches, and old versions of files with their results."""
    path = Path(shutil.copy(recorded, tmp_path_factory.mktemp("older")))
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE agents SET safe_mode = 1, termination_review = 1, withheld_patterns = '[\"x\"]'")
        database.commit()
    return path, _with_old_versions(path)


@pytest.fixture(scope="module")
def migrated(older: Older) -> Path:
    """That database after all migrations, which take seconds."""
    _manage(older[0], "migrate", "--verbosity=0")
    return older[0]


def _rows(database: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def test_recording_has_everything(recorded: Path) -> None:
    counted = {what: _rows(recorded, f"SELECT count(*) FROM {what}")[0][0] for what in HAS}
    lacking = {what: least for what, least in HAS.items() if counted[what] < least}
    assert not lacking
    succeeded = {
        adapter for (adapter,) in _rows(recorded, "SELECT DISTINCT adapter FROM llm_logs WHERE status = 'succeeded'")
    }
    assert succeeded == {*PROTOCOLS, "scripted"}
    assert not [value for value in (SECRET, TEAMS) if value.encode() in recorded.read_bytes()]


def test_recording_is_intact_after_all_migrations(recorded: Path, older: Older, migrated: Path) -> None:
    sessions, entries, calls = (
        _rows(recorded, f"SELECT count(*) FROM {table}")[0][0] for table in ("sessions", "task_context", "llm_logs")
    )
    moved = "tool, seq, path, before_mode, before_size, before_sha256, after_mode, after_sha256, session_id, created_at"
    changes = "file_changes JOIN workspace_changes ON workspace_changes.id = change_id ORDER BY file_changes.id"
    assert _rows(migrated, f"SELECT {moved} FROM {changes}") == older[1]
    said = _manage(migrated, "replay", "--all", "--verify", "--no-color")
    assert said == f"{calls:,} calls rebuilt, 0 mismatches. {sessions} chains of {entries:,} entries, 0 broken.\n"


def test_agent_switches_are_migrated_to_hooks(migrated: Path, tmp_path: Path) -> None:
    hooks = [("Clerk", '["safe_mode", "termination_review", "output_filter"]')]
    assert _rows(migrated, "SELECT name, hooks FROM agents") == hooks
    path = Path(shutil.copy(migrated, tmp_path))
    _manage(path, "migrate", "tasks_app", "0001", "--verbosity=0")
    assert _rows(path, "SELECT safe_mode, autopilot, self_verification, termination_review FROM agents") == [
        (1, 0, 0, 1)
    ]


def test_forks_no_longer_count_as_failed(migrated: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(migrated, tmp_path))
    forks = "SELECT count(*) FROM tasks WHERE stopped AND state = '{}' AND failure_detail = '{}'"
    cut_off, failed = forks.format("done", ""), forks.format("failed", "Forked here. Write a message to go on.")
    (count,) = _rows(path, cut_off)
    assert count != (0,)
    assert _rows(path, failed) == [(0,)]
    _manage(path, "migrate", "tasks_app", "0002", "--verbosity=0")
    assert _rows(path, failed) == [count]


def _with_old_versions(recorded: Path) -> list[tuple[Any, ...]]:
    """Add versions of files from before the history, and return the changes that they become."""
    moved = []
    with closing(sqlite3.connect(recorded)) as database:
        (session,) = database.execute("SELECT id FROM sessions").fetchone()
        for number, path in enumerate(("a.txt", "docs/ä.md", "a.txt"), 1):
            row = {
                "path": path,
                "sha256": str(number) * 64,
                "size": number,
                "created_at": f"2026-01-0{number} 10:00:00",
            }
            names, values = ", ".join([*row, "session_id"]), [*row.values(), session]
            database.execute(f"INSERT INTO file_versions ({names}) VALUES (?, ?, ?, ?, ?)", values)
            kept = (0o100644, number, row["sha256"])
            moved.append(("file", 0, path, *kept, 0o100644, "", session, row["created_at"]))
        database.commit()
    return moved


def _manage(database: Path, *arguments: str, status: int = 0) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "AGENTSITE_VAR": str(database.parent),
        "DATABASE_URL": f"sqlite:///{database}",
        **KEYS,
    }
    command = [sys.executable, "manage.py", *arguments]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert ended.returncode == status, ended.stdout + ended.stderr
    return ended.stdout if status == 0 else ended.stderr


def test_database_between_two_versions_is_told_how_to_upgrade(recorded: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(recorded, tmp_path))
    with closing(sqlite3.connect(path)) as database:
        row = "INSERT INTO django_migrations (app, name, applied) VALUES ('tasks_app', '0004_help_texts', '2026-11-22')"
        database.execute(row)
        database.commit()
    refused = _manage(path, "migrate", status=1)
    assert "This database is of a day between two versions before 1.0." in refused
    assert "Traceback" not in refused

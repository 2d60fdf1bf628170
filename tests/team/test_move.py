"""A move from one process to a team and back: waiting tasks are answered on the other database."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server import KEYS, ROOT, migrated

pytestmark = pytest.mark.team


def _stage(var: Path, *arguments: object, **environment: str) -> str:
    """Run tests.team.moved and return its output."""
    command = [sys.executable, "-m", "tests.team.moved", *map(str, arguments)]
    settings = {"AGENTSITE_VAR": str(var), "AGENTSITE_WORKSHOP": "0", "DJANGO_SETTINGS_MODULE": "agentsite.settings"}
    given = {"PATH": os.environ["PATH"], **settings, **KEYS, **environment}
    ended = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_waiting_approvals_survive_a_move_to_postgresql_and_back(postgres: Any, tmp_path: Path) -> None:
    shutil.copytree(migrated(), tmp_path / "one")
    said = _stage(tmp_path / "one", "begin", tmp_path / "first")
    assert "sessions: 2 rows" in said
    said = _stage(tmp_path / "team", "go-on", tmp_path / "first", tmp_path / "second", DATABASE_URL=postgres)
    assert "The backup of " in said
    said = _stage(tmp_path / "back", "end", tmp_path / "second")
    assert "The database is empty: its tables are made." in said
    assert "0 mismatches" in said
    assert "2 chains" in said
    assert "0 broken" in said

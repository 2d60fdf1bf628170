"""The search for notes, which finds the same on both databases."""

import json
import os
import subprocess
import sys

import pytest

from tests.server import ROOT

pytestmark = pytest.mark.team
FOUND = [
    ["Billing goes out on Tuesdays", "Billing is a matter of the team"],
    ["月曜日に東京で会議がある"],
    ["Die Übergabe ist am Freitag"],
    ["We say x' or y"],
    [],
    [],
]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_notes_are_found_by_their_text(database, request, tmp_path):
    environment = {
        "PATH": os.environ["PATH"],
        "AGENTSITE_VAR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "agentsite.settings",
    }
    if database == "postgresql":
        environment["DATABASE_URL"] = request.getfixturevalue("postgres")
    command = [sys.executable, "-m", "tests.tasks_app.engine.memory_search"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == FOUND

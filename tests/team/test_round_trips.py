"""The round trips of an iteration on PostgreSQL: few, because the writes of a commit are sent together.

A connection parses and plans each statement once.
"""

import os
import subprocess
import sys

import pytest

from tests.server import ROOT

pytestmark = pytest.mark.team
MOST = {
    "message": 3.2,
    "file": 5.2,
}  # of an iteration with a plain handler and with an awaited one; and a reminder now and then
MOST_PARSED = 3.0  # of 13: each BEGIN, and figures that have become so large that they need more bytes


@pytest.mark.parametrize("tool", MOST)
def test_iteration_has_few_round_trips_and_prepared_statements(postgres, tmp_path, tool):
    environment = {
        "PATH": os.environ["PATH"],
        "AGENTSITE_VAR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "agentsite.settings",
        "DATABASE_URL": postgres,
    }
    command = [sys.executable, "-m", "tests.team.round_trips", tool]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    waits, parsed = map(float, ended.stdout.split())
    assert waits <= MOST[tool]
    assert parsed <= MOST_PARSED

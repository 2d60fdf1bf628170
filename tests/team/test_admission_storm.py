"""The storm of tasks of tests/tasks_app on PostgreSQL."""

import json
import os
import subprocess
import sys

import pytest

from tests.server import ROOT
from tests.tasks_app.admission_storm import PEOPLE, PER_USER, RUNNING, TASKS

pytestmark = pytest.mark.team


def test_concurrent_claims_respect_the_limits(postgres, tmp_path):
    environment = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": postgres,
        "AGENTSITE_VAR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "agentsite.settings",
    }
    command = [sys.executable, "-m", "tests.tasks_app.admission_storm"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["ran"] == PEOPLE * TASKS
    assert 1 < found["most"] <= RUNNING
    assert found["most of one"] <= PER_USER

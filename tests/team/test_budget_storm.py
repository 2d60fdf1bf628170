"""The storm of budgets of tests/llm_app on PostgreSQL."""

import json
import os
import subprocess
import sys

import pytest

from tests.llm_app.budget_storm import CALLERS, LIMIT
from tests.server import ROOT

pytestmark = pytest.mark.team


def test_two_hundred_concurrent_calls_exceed_a_limit_by_one_at_most(postgres, tmp_path):
    environment = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": postgres,
        "AGENTSITE_VAR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "agentsite.settings",
    }
    command = [sys.executable, "-m", "tests.llm_app.budget_storm"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert LIMIT <= found["spent"] < LIMIT + found["largest"]
    assert (found["refused"], found["reserved"]) == (CALLERS, 0), ended.stderr

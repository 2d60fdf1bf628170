"""The storm of calls of tests/llm_app on PostgreSQL."""

import json
import os
import subprocess
import sys

import pytest

from tests.server import ROOT

pytestmark = pytest.mark.team


def test_storm_of_calls_sends_one_probe_per_cooldown(postgres, tmp_path):
    environment = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": postgres,
        "AGENTSITE_VAR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "agentsite.settings",
    }
    command = [sys.executable, "-m", "tests.llm_app.storm"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == [[0, 100], [1, 100], [0, 100], [1, 100]]

"""The version of settings on PostgreSQL: every change raises it, and a rolled back change does not."""

import os
import subprocess
import sys

import pytest

from tests.server import ROOT

pytestmark = pytest.mark.team
CHANGES = """
import django
django.setup()
from django.core.management import call_command
from django.db import transaction
from tests.tasks_app.engine.test_settings_version import version
from tools_app.models import ToolSetting
call_command("migrate", verbosity=0)  # for the second time
print(before := version())
ToolSetting.objects.create(name="shell")
ToolSetting.objects.filter(name="shell").update(enabled=False)
with transaction.atomic():
    ToolSetting.objects.all().delete()
    transaction.set_rollback(True)
print(version() - before)
"""


def test_bulk_changes_raise_the_version(postgres, tmp_path):
    environment = {
        "PATH": os.environ["PATH"],
        "AGENTSITE_VAR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "agentsite.settings",
        "DATABASE_URL": postgres,
    }
    command = [sys.executable, "-c", CHANGES]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split()[1] == "2"

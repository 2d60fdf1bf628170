"""A separate process of `run_agent` with a provider over HTTP, which leaves no connection open at its end."""

import os
import shutil
import subprocess
import sys

from tests.provider import openai_result, running
from tests.server import ROOT, migrated

CONFIG = """
providers: [{{name: main, protocol: openai_native, base_url: "{url}", api_key: a-key-for-tests}}]
models: [{{name: default, providers: [{{provider: main, model: some-model, priority: 1}}]}}]
"""


def test_provider_connections_are_closed_without_warnings(tmp_path):
    shutil.copytree(migrated(), tmp_path / "var")
    environment = {"PATH": os.environ["PATH"], "AGENTSITE_VAR": str(tmp_path / "var")}

    def manage(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    with running() as provider:
        provider.replies = [openai_result("Done.")]
        (tmp_path / "config.yml").write_text(CONFIG.format(url=provider.base_url))
        manage("configure", str(tmp_path / "config.yml")).check_returncode()
        ended = manage("run_agent", "Say done.")
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "Done.")
    assert "Unclosed" not in ended.stderr

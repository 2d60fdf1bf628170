"""The imports of a start, which determine its cost: none for a team's mode, and none that load on first use."""

import os
import subprocess
import sys
from pathlib import Path

from tests.server import KEYS, ROOT

UNUSED = {
    *("psycopg", "psycopg_pool", "redis", "channels_redis"),  # a team's
    *(
        "requests",
        "urllib3",
        "jinja2",
        "OpenSSL",
        "h2",
        "allauth.socialaccount.models",
        "fido2",
    ),  # optional, for others
    *(
        "aiohttp",
        "greenlet",
        "regex",
        "pygments",
        "unittest",
        "django.test",
        "rest_framework.test",
    ),  # of few pages, rules and of tests
    *("litellm", "openai", "mcp", "playwright", "trafilatura", "lxml", "pypdf", "docx", "pptx", "PIL"),  # on first use
}
_SERVER = (
    "import django; django.setup(); import agentsite.serving.web, agentsite.asgi, agentsite.urls, tasks_app.worker"
)


def test_embedded_server_imports_no_unused_packages(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "AGENTSITE_VAR": str(tmp_path), **KEYS}
    command = [sys.executable, "-c", f"{_SERVER}; import sys; print(*sys.modules)"]
    said = subprocess.run(
        command,
        cwd=ROOT,
        env={**environment, "DJANGO_SETTINGS_MODULE": "agentsite.settings"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert UNUSED & set(said.split()) == set()

"""The settings for an address of PostgreSQL."""

import json
import subprocess
import sys

from tests.server import KEYS, ROOT

PRINT = "import json; from agentsite import settings; print(json.dumps(settings.DATABASES['default']['OPTIONS']))"


def test_options_of_the_address_override_ours_and_stalled_transactions_end() -> None:
    environment = {
        "DATABASE_URL": "postgres://u@h/d?sslmode=require&prepare_threshold=1000000",
        "REDIS_URL": "redis://h/0",
        **KEYS,
    }
    done = subprocess.run([sys.executable, "-c", PRINT], cwd=ROOT, env=environment, capture_output=True, check=True)
    options = json.loads(done.stdout)
    assert options["sslmode"] == "require"
    assert options["prepare_threshold"] == 1_000_000  # for a pgbouncer that does not support prepared statements
    assert "idle_in_transaction_session_timeout=10s" in options["options"]
    assert "jit=off" in options["options"]  # compiling a search takes a second, running it 20 ms
    assert options["pool"]["max_size"] == 32
    assert options["keepalives_idle"] < options["tcp_user_timeout"] / 1000 < 30  # a lost host is detected

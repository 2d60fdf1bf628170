"""The command that records the database again, by hand:

    make recorded        (python -m tests.recorded.make)

It uses the migrations of this commit, and takes about half a minute.
"""

import lzma
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from tests.recorded import FILE, KEYS


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="agentsite-recorded-") as folder:
        for variable in ("DATABASE_URL", "REDIS_URL", "AGENTSITE_CONFIG"):
            os.environ.pop(variable, None)
        os.environ |= {"AGENTSITE_VAR": folder, "DJANGO_SETTINGS_MODULE": "agentsite.settings", **KEYS}
        os.environ["LOG_LEVEL"] = "ERROR"  # providers fail on purpose
        import django

        django.setup()
        _record()
        packed = lzma.compress(_database(Path(folder)), preset=9 | lzma.PRESET_EXTREME)
    FILE.write_bytes(packed)
    print(f"{FILE}: {len(packed):,} bytes")


def _record() -> None:
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from llm_app.transport import wire
    from tests import provider
    from tests.recorded import scenes

    call_command("migrate", verbosity=0)
    owner = get_user_model().objects.create_superuser("olga")
    with provider.running() as answering:
        scenes.set_up(answering, owner)
        for protocol in scenes.PROTOCOLS:
            print(protocol, flush=True)
            scenes.play(protocol, answering, owner)
        scenes.play_a_workflow(owner)
    wire.close()
    call_command("replay", "--all", "--verify")


def _database(folder: Path) -> bytes:
    """Write the database as one compact file without a write-ahead log."""
    copy = folder / "copy.sqlite3"
    with closing(sqlite3.connect(folder / "agentsite.sqlite3")) as database:
        database.execute("VACUUM INTO ?", [str(copy)])
    return copy.read_bytes()


if __name__ == "__main__":
    main()

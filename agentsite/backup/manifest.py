"""The manifest of a backup."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from agentsite.backup import BackupError
from agentsite.environment import VERSION
from tasks_app.record import chain

FORMAT = 1
_NAME = "manifest.json"
Migrations = list[list[str]]


@dataclass(kw_only=True)
class Manifest:
    """The version, keys, migrations and digests of a backup.

    `migrations` are the last ones of each app. `digests` has the SHA-256 of every other file by its path.
    """

    format: int = FORMAT
    version: str = VERSION
    made_at: str = field(default_factory=lambda: timezone.now().isoformat())
    database: str = field(default_factory=lambda: connection.vendor)
    keys: list[str] = field(default_factory=chain.key_ids)
    migrations: Migrations = field(default_factory=lambda: last_migrations(connection_executor()))
    digests: dict[str, str] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write the manifest, with the digests of all files in the folder."""
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        self.digests = {str(file.relative_to(folder)): _digest(file) for file in files}
        (folder / _NAME).write_text(json.dumps(asdict(self), indent=2))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the manifest of a folder.

        Raises: BackupError unless the folder is a complete backup that this version can read with its keys.
        """
        try:
            manifest = cls(**json.loads((folder / _NAME).read_text()))
        except FileNotFoundError as error:
            raise BackupError(f"{folder} is no backup, or one that was not finished: it has no {_NAME}.") from error
        except (ValueError, TypeError) as error:
            raise BackupError(f"{folder / _NAME} cannot be read: {error}") from error
        manifest._check(folder)
        return manifest

    def _check(self, folder: Path) -> None:
        if self.format != FORMAT:
            raise BackupError(f"The backup has format {self.format}; version {VERSION} reads format {FORMAT}.")
        if missing := set(self.keys) - set(chain.key_ids()):
            raise BackupError(
                f"FIELD_ENCRYPTION_KEY lacks {len(missing)} of the {len(self.keys)} keys of the installation that was "
                "backed up (there: the variable, or the file var/keys/field_encryption_key). Nothing that is encrypted "
                "could be read, and no chain verified. Set the variable to that value; more keys may stand behind it."
            )
        changed = [name for name, digest in self.digests.items() if digest != _digest(folder / name)]
        if changed:
            raise BackupError(f"Not as it was when the backup was made: {', '.join(changed)}.")


def connection_executor() -> MigrationExecutor:
    return MigrationExecutor(connection)


def last_migrations(executor: MigrationExecutor) -> Migrations:
    return sorted([app, name] for app, name in executor.loader.graph.leaf_nodes())


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except FileNotFoundError:
        return "it is missing"

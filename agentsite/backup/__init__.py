"""Backups: folders with the rows of each table as JSON lines, archives of files, and a manifest, written last.

The format is the same for SQLite and PostgreSQL, so a restore also moves an installation from one to the other.
Encrypted values stay encrypted: secrets and chains need FIELD_ENCRYPTION_KEY, which is not in the backup.
"""


class BackupError(Exception):
    """A backup cannot be made or restored. The message says why, and what to do."""

"""A backup is a folder: rows of each table as JSON lines, archives of files, and a manifest, which is written last.

It is the same for SQLite and PostgreSQL, so a restore is also how one database is changed for the other. Encrypted
values stay encrypted: without FIELD_ENCRYPTION_KEY a backup opens no secret and proves no chain. The key is not in it.
"""


class BackupError(Exception):
    """A backup cannot be made or restored. The message says why, and what to do."""

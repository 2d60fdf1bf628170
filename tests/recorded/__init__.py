"""A recorded database of an earlier version, with sessions in which everything happened once: see README.md."""

from pathlib import Path

FILE = Path(__file__).with_name("recorded.sqlite3.xz")
# The keys of its secrets and chains. They are used nowhere else.
KEYS = {
    "SECRET_KEY": "for the recorded database, and not a secret",
    "FIELD_ENCRYPTION_KEY": "cmVjb3JkZWQtcmVjb3JkZWQtcmVjb3JkZWQtcmVjb3I=",
}

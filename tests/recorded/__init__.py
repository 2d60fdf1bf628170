"""A database with sessions in which everything happened once, as a server of some day left it: see README.md."""

from pathlib import Path

FILE = Path(__file__).with_name("recorded.sqlite3.xz")
# Those that its secrets and its chains were made with. They open nothing else.
KEYS = {
    "SECRET_KEY": "for the recorded database, and not a secret",
    "FIELD_ENCRYPTION_KEY": "cmVjb3JkZWQtcmVjb3JkZWQtcmVjb3JkZWQtcmVjb3I=",
}

"""A script that writes the keys and passwords of docker-compose.yml into secrets/ (`make keys`). Existing ones stay."""

import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

from cryptography.fernet import Fernet

FOLDER = Path("secrets")


def main() -> None:
    """Write the missing files. The folder keeps other users out; containers have different users and read the files."""
    FOLDER.mkdir(mode=0o700, exist_ok=True)
    for name, value in _values():
        if not (path := FOLDER / name).exists():
            path.write_text(value)
            path.chmod(0o644)
    sys.stdout.write(
        f"{FOLDER}/ holds the keys and passwords, and {FOLDER}/admin_password that of “admin”. Back them up.\n"
    )
    sys.stdout.write(f"A provider's key goes into {FOLDER}/openai_api_key or {FOLDER}/anthropic_api_key.\n")


def _values() -> Iterator[tuple[str, str]]:
    postgres, redis = _password("postgres_password"), _password("redis_password")
    yield "postgres_password", postgres
    yield "redis_password", redis
    yield "database_url", f"postgres://agentsite:{postgres}@postgres:5432/agentsite"
    yield "redis_url", f"redis://:{redis}@redis:6379/0"
    yield "secret_key", secrets.token_urlsafe(50)
    yield "field_encryption_key", Fernet.generate_key().decode()
    yield "admin_password", secrets.token_urlsafe(16)
    yield "storage_url", ""
    yield "openai_api_key", ""
    yield "anthropic_api_key", ""


def _password(name: str) -> str:
    """Return the existing password, which a new address must repeat, or a new one."""
    path = FOLDER / name
    return path.read_text().strip() if path.exists() else secrets.token_hex(24)


if __name__ == "__main__":
    main()

"""Environment variables, read once, the version, and the keys that the embedded mode generates."""

import os
import re
import secrets
import sys
import tomllib
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import environ
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from environ.fileaware_mapping import FileAwareMapping

from agentsite.addresses import Network, is_ipv6, read_networks

BASE_DIR = Path(__file__).resolve().parent.parent
_WEB = {"http": ":80", "https": ":443"}  # with the port that browsers omit
_HOST = re.compile(r"\*|\.?[\w.-]+|\[[\da-f:.]+\]", re.IGNORECASE)


class _Variables(FileAwareMapping):
    """The environment. `NAME_FILE` names a file that holds the value of `NAME`, as with Docker's secrets."""

    def __getitem__(self, key: str) -> str:
        try:
            value: str = super().__getitem__(key)
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(f"{key}_FILE names a file that cannot be read: {error}") from error
        return value.strip() if key in self.files_cache else value  # editors append a line break


class _Env(environ.Env):
    ENVIRON = _Variables()

    def integer(self, name: str, default: int, *, minimum: int = 0) -> int:
        """Return a whole number.

        Raises: ImproperlyConfigured unless it is a whole number of at least `minimum`.
        """
        try:
            number: int = self.int(name, default=default)
        except ValueError:
            number = minimum - 1
        if number < minimum:
            raise ImproperlyConfigured(f"{name} is {self.str(name)!r}. Write a whole number from {minimum} on.")
        return number

    def choice(self, name: str, default: str, *others: str) -> str:
        """Return the option that the variable names, in upper or lower case.

        Raises: ImproperlyConfigured if it names none of them.
        """
        text = self.str(name, default=default).strip()
        for option in (default, *others):
            if text.lower() == option.lower():
                return option
        raise ImproperlyConfigured(f"{name} is {text!r}. Write one of {', '.join((default, *others))}.")


env = _Env()
VERSION: str = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]  # its only place

_TLS = {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname"}
_CHECKS = ("required", "optional", "none")


def redis_url() -> str:
    """Return REDIS_URL in the form that Celery, Channels and Django read alike, '' if it is not set.

    With TLS it always names the check of certificates, because Celery's default is not to check them.

    Raises: ImproperlyConfigured if it is not a supported address.
    """
    if not (text := env.str("REDIS_URL", default="").strip()):
        return ""
    try:
        url = urlsplit(text)
        options = dict(parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query)))
        is_address = bool(url.scheme in ("redis", "rediss") and url.hostname and (url.port is None or url.port > 0))
    except ValueError:
        is_address = False
    if not is_address or url.fragment or not re.fullmatch(r"/?\d*", url.path):
        raise ImproperlyConfigured(
            "REDIS_URL is no address that can be used. Write redis://:PASSWORD@HOST:PORT/0, or rediss://… for TLS, "
            "with special characters of a password as %XX. Sockets (unix://), Sentinel and clusters are not supported."
        )
    checks = options.get("ssl_cert_reqs", _CHECKS[0]).lower().removeprefix("cert_")
    if options.keys() - (_TLS if url.scheme == "rediss" else set()) or checks not in _CHECKS:
        raise ImproperlyConfigured(
            f"REDIS_URL may end with {', '.join(sorted(_TLS))} after a question mark, and only with rediss://. "
            f"ssl_cert_reqs is one of {', '.join(_CHECKS)}."
        )
    for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"):
        if name in options and not os.access(options[name], os.R_OK):
            raise ImproperlyConfigured(f"{name} of REDIS_URL names a file that cannot be read: {options[name]}")
    if url.scheme == "rediss":
        options["ssl_cert_reqs"] = checks
    return str(urlunsplit(url._replace(query=urlencode(options))))


REDIS_URL = redis_url()
EMBEDDED: bool = not REDIS_URL
VAR_DIR = Path(env.str("AGENTSITE_VAR", default=str(BASE_DIR / "var"))).resolve()


def database_settings() -> dict[str, Any]:
    """Return Django's settings of the database.

    Raises: ImproperlyConfigured if DATABASE_URL is not the address of one.
    """
    try:
        config: dict[str, Any] = env.db_url_config(database_url())
    except ValueError:
        config = {}
    if not config.get("ENGINE"):
        raise ImproperlyConfigured(
            "DATABASE_URL is no address of a database. Write postgres://USER:PASSWORD@HOST:PORT/NAME, "
            "or leave it out for SQLite."
        )
    return config


def mail_settings() -> dict[str, Any]:
    """Return Django's settings of mail. Without `EMAIL_URL`, no mail is sent.

    Raises: ImproperlyConfigured if it is not the address of a mail server.
    """
    try:
        return dict(env.email_url("EMAIL_URL", default="consolemail://"))
    except (ValueError, KeyError) as error:
        raise ImproperlyConfigured(
            "EMAIL_URL is no address of a mail server. Write smtp+tls://USER:PASSWORD@HOST:PORT."
        ) from error


def database_url() -> str:
    return str(env.str("DATABASE_URL", default="") or f"sqlite:///{VAR_DIR / 'agentsite.sqlite3'}")


def storage_settings() -> dict[str, Any]:
    """Return Django's setting STORAGES. Files outside sessions are below `var/`, or in the bucket of STORAGE_URL.

    Its form is s3://KEY:SECRET@BUCKET/FOLDER?endpoint=https://…&region=…, where only the bucket is required. Without
    a key, boto3 uses its usual sources (its environment variables, the machine's role).

    Raises: ImproperlyConfigured for another form, or without the packages.
    """
    static_files = {"staticfiles": {"BACKEND": "agentsite.static_files.HashedStaticFilesStorage"}}
    if not (text := env.str("STORAGE_URL", default="")):
        options = {"location": VAR_DIR, "file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
        backend = "django.core.files.storage.FileSystemStorage"
        return static_files | {"default": {"BACKEND": backend, "OPTIONS": options}}
    url, query = urlsplit(text), dict(parse_qsl(urlsplit(text).query))
    endpoint = urlsplit(query.get("endpoint", "https://"))
    has_known_options = not query.keys() - {"endpoint", "region"} and endpoint.scheme in _WEB
    if url.scheme != "s3" or not url.hostname or not has_known_options:
        raise ImproperlyConfigured(
            "STORAGE_URL is no address of a bucket. Write s3://KEY:SECRET@BUCKET?endpoint=https://…&region=…"
        )
    if not all(map(find_spec, ("storages", "boto3"))):
        raise ImproperlyConfigured(
            "STORAGE_URL names a bucket, and the packages for it (django-storages, boto3) are not installed. "
            f"Run: {sys.executable} -m pip install --require-hashes -r {BASE_DIR / 'requirements' / 'base.txt'}"
        )
    options = {
        "bucket_name": url.hostname,
        "location": url.path.strip("/"),
        "endpoint_url": query.get("endpoint"),
        "access_key": unquote(url.username or "") or None,
        "secret_key": unquote(url.password or "") or None,
        "region_name": query.get("region"),
    }
    return static_files | {"default": {"BACKEND": "agentsite.bucket.BucketStorage", "OPTIONS": options}}


def get_key(name: str) -> str:
    """Return the key `name` from the environment or, in the embedded mode, from `var/`.

    Raises: ImproperlyConfigured in a team deployment without the variable, where each process would generate
    another key.
    """
    if EMBEDDED:
        create_var()
    if value := env.str(name, default=""):
        return str(value)
    if not EMBEDDED:
        raise ImproperlyConfigured(f"{name} is not set. A team deployment needs it in every process.")
    return stored_key(name)


def stored_key(name: str) -> str:
    """Return the key that is stored in `var/`, after generating it if there is none."""
    path = VAR_DIR / "keys" / name.lower()
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        _write_if_missing(path, Fernet.generate_key().decode() if "ENCRYPTION" in name else secrets.token_urlsafe(50))
        return path.read_text().strip()
    except OSError as error:
        raise _unwritable(error) from error


def create_var() -> None:
    """Create `var/`, closed to other users, whichever command runs first."""
    try:
        VAR_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(error) from error


def _unwritable(error: OSError) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"Cannot write to {VAR_DIR}: {error.strerror}. Make it writable, or set AGENTSITE_VAR to a folder that is."
    )


def _write_if_missing(path: Path, value: str) -> None:
    """Write the complete file unless it exists. Two processes that start together agree on one key."""
    if path.exists():
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(value)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was first: use its key
    finally:
        draft.unlink()


def public_url() -> str:
    """Return the address that people open, from AGENTSITE_URL, or ''.

    Raises: ImproperlyConfigured if it is not the address of a site.
    """
    text = env.str("AGENTSITE_URL", default="").strip().rstrip("/")
    if not text:
        return ""
    if (url := _web_address(text)) is None:
        raise ImproperlyConfigured(f"AGENTSITE_URL is {text!r}. Write an address such as https://agents.example.org.")
    if url.path:
        raise ImproperlyConfigured(
            f"AGENTSITE_URL is {text!r}, and this server cannot be served below a path. Give it a host name of its "
            "own, such as https://agents.example.org."
        )
    return _origin(url)


def trusted_origins(texts: Sequence[str]) -> list[str]:
    """Return the addresses of CSRF_TRUSTED_ORIGINS.

    Raises: ImproperlyConfigured for an address that is not an origin.
    """
    origins = []
    for text in filter(None, map(str.strip, texts)):
        url = _web_address(text.rstrip("/"))
        if url is None or url.path:
            sentence = "Write addresses without a path, such as https://agents.example.org, separated by commas."
            raise ImproperlyConfigured(f"CSRF_TRUSTED_ORIGINS has {text!r}. {sentence}")
        origins.append(_origin(url))
    return origins


def _web_address(text: str) -> SplitResult | None:
    """Return the parts of a site's address, None if the text is not one."""
    try:
        url = urlsplit(text)
        is_address = url.scheme in _WEB and bool(url.hostname) and url.port != 0 and not url.username
    except ValueError:
        return None
    return url if is_address and not url.query and not url.fragment else None


def _origin(url: SplitResult) -> str:
    """Return the origin as browsers write it."""
    return f"{url.scheme}://{url.netloc.lower().removesuffix(_WEB[url.scheme])}"


def allowed_hosts(texts: Iterable[str]) -> list[str]:
    """Return the names of ALLOWED_HOSTS.

    Raises: ImproperlyConfigured for a name that no request can have.
    """
    names = [f"[{text}]" if is_ipv6(text) else text for text in map(str.strip, texts) if text]
    for name in names:
        if not _HOST.fullmatch(name):
            sentence = "Write names without scheme, port and path, such as agents.example.org, separated by commas."
            raise ImproperlyConfigured(f"ALLOWED_HOSTS has {name!r}. {sentence}")
    return names


def trusted_proxies(texts: Sequence[str]) -> list[Network]:
    """Return the networks of TRUSTED_PROXIES.

    Raises: ImproperlyConfigured for text that is not an address.
    """
    try:
        return read_networks(texts)
    except ValueError as error:
        raise ImproperlyConfigured(f"TRUSTED_PROXIES: {error}") from error

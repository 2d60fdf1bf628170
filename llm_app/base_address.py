"""Base addresses of providers, and the addresses of their endpoints."""

import re
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

# Endpoints that people paste with the address, the longest first.
_ENDPOINTS = (
    *("chat/completions", "images/generations", "audio/speech", "completions", "responses", "embeddings"),
    *("messages", "models"),
)
_VERSION = re.compile(r"v\d\w*")


@lru_cache(maxsize=256)
def endpoint_address(base_address: str, path: str) -> str:
    """Return the address of an endpoint under a base address, whose query it keeps (Azure's `api-version`).

    The endpoint of an invalid address is invalid, too.
    """
    try:
        base = urlsplit(tidied_address(base_address))
    except ValueError:
        return f"{base_address}/{path}"
    return urlunsplit((base.scheme, base.netloc, f"{base.path}/{path}", base.query, ""))


def versioned_address(base_address: str, path: str) -> str:
    """Return the address of an endpoint of version 1, whether or not the base address names the version."""
    try:
        has_version = urlsplit(tidied_address(base_address)).path.endswith("/v1")
    except ValueError:
        has_version = False
    return endpoint_address(base_address, path if has_version else f"v1/{path}")


def with_parameter(address: str, parameter: str) -> str:
    """Return an address with one more parameter in its query."""
    return f"{address}{'&' if urlsplit(address).query else '?'}{parameter}"


def is_host_below(address: str, domain: str) -> bool:
    """Return whether the host of an address belongs to a domain."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return False
    return host == domain or host.endswith(f".{domain}")


def tidied_address(address: str) -> str:
    """Return a base address without the path of an endpoint, a doubled version and closing slashes.

    Raises: ValueError for an invalid address.
    """
    parts = urlsplit(address.strip())
    segments = _without_endpoints(parts.path).split("/")
    while len(segments) > 2 and segments[-1] == segments[-2] and _VERSION.fullmatch(segments[-1]):
        segments.pop()
    path = "/".join(segments)
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _without_endpoints(path: str) -> str:
    path = path.rstrip("/")
    while endpoint := next((name for name in _ENDPOINTS if path.endswith(f"/{name}")), ""):
        path = path.removesuffix(f"/{endpoint}").rstrip("/")
    return path


def has_path(address: str) -> bool:
    """Return whether a base address has a path, such as /v1."""
    return bool(urlsplit(address).path.strip("/"))

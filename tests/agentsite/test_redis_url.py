"""Addresses of Redis: one form for all clients, and a sentence about addresses that they cannot use."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from agentsite.environment import redis_url


@pytest.mark.parametrize(
    "address",
    [
        *(
            "sentinel://host:26379/0",
            "redis+sentinel://host/0",
            "unix:///run/redis.sock",
            "redis+socket:///run/redis.sock",
        ),
        *(
            "localhost:6379",
            "127.0.0.1",
            "//host/0",
            "/run/redis.sock",
            "http://host",
            "redis:",
            "redis://",
            "redis:///0",
        ),
        *(
            "redis://host:port/0",
            "redis://host:99999/0",
            "redis://host/zero",
            "redis://host/0#1",
            "redis://:a/b@host/0",
        ),
    ],
)
def test_unsupported_addresses_are_rejected(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", address)
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL is no address that can be used. Write redis://") as said:
        redis_url()
    assert "a/b" not in str(said.value)  # a password


@pytest.mark.parametrize("options", ["db=1", "ssl_cert_reqs=perhaps", "ssl_ciphers=any", "nonsense"])
def test_unsupported_options_are_rejected(options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", f"rediss://host/0?{options}")
    with pytest.raises(ImproperlyConfigured, match="^REDIS_URL "):
        redis_url()


def test_tls_options_need_tls_and_readable_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://host/0?ssl_cert_reqs=required")
    with pytest.raises(ImproperlyConfigured, match="only with rediss://"):
        redis_url()
    monkeypatch.setenv("REDIS_URL", f"rediss://host/0?ssl_ca_certs={tmp_path}/none.pem")
    with pytest.raises(ImproperlyConfigured, match="none.pem"):
        redis_url()


@pytest.mark.parametrize(
    ("address", "read"),
    [
        ("", ""),
        ("redis://host", "redis://host"),
        ("REDIS://:p%2Fw@host:6380/2", "redis://:p%2Fw@host:6380/2"),
        ("redis://[::1]:6379/0", "redis://[::1]:6379/0"),
        ("rediss://host/0", "rediss://host/0?ssl_cert_reqs=required"),
        ("rediss://host/0?ssl_cert_reqs=CERT_NONE", "rediss://host/0?ssl_cert_reqs=none"),
    ],
)
def test_certificates_are_checked_unless_disabled(address: str, read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", address)
    assert redis_url() == read

"""Settings from the environment and from files such as Docker's secrets, and the sentences about mistakes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from agentsite.environment import allowed_hosts, env, public_url, trusted_origins
from tests.server import KEYS, ROOT


def test_file_provides_a_setting_without_its_line_break(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text(" a key \n")
    monkeypatch.setenv("TEST_FROM_FILE_FILE", str(tmp_path / "key"))
    assert env.str("TEST_FROM_FILE") == "a key"


def test_empty_file_counts_as_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").touch()
    monkeypatch.setenv("TEST_EMPTY_FILE", str(tmp_path / "key"))
    assert env.str("TEST_EMPTY", default="") == ""


def test_missing_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_MISSING_FILE", "/nowhere/key")
    with pytest.raises(ImproperlyConfigured, match="TEST_MISSING_FILE names a file that cannot be read.*/nowhere/key"):
        env.str("TEST_MISSING")


@pytest.mark.parametrize("text", ["abc", "1G", "0", "-4", "2.5"])
def test_number_must_be_whole_and_large_enough(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_NUMBER", text)
    with pytest.raises(ImproperlyConfigured, match=f"TEST_NUMBER is '{text}'. Write a whole number from 1 on."):
        env.integer("TEST_NUMBER", 8, minimum=1)


def test_choice_ignores_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_WORD", "info")
    assert env.choice("TEST_WORD", "WARNING", "INFO") == "INFO"
    monkeypatch.setenv("TEST_WORD", "loud")
    with pytest.raises(ImproperlyConfigured, match="TEST_WORD is 'loud'. Write one of WARNING, INFO."):
        env.choice("TEST_WORD", "WARNING", "INFO")


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("DATABASE_URL", "foo", "DATABASE_URL is no address of a database."),
        ("DATABASE_URL", "postgres://u:p@h:abc/x", "DATABASE_URL is no address of a database."),
        ("DATABASE_URL", "sqlite:////nowhere/at/all.sqlite3", "The database cannot be used: unable to open"),
        ("EMAIL_URL", "smtp://u:p@h:abc", "EMAIL_URL is no address of a mail server."),
        ("PORT", "99999", "Cannot listen on 127.0.0.1:99999"),
        ("FIELD_ENCRYPTION_KEY", "abc", "FIELD_ENCRYPTION_KEY must be one or more Fernet keys"),
    ],
)
def test_invalid_setting_stops_the_start_with_a_sentence(name: str, value: str, sentence: str, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "AGENTSITE_VAR": str(tmp_path), **KEYS, name: value}
    command = [sys.executable, "manage.py", "serve"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 1
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "text",
    ["192.168.1.5:8000", "http://box.lan", "box.lan/", "a.lan b.lan", "[::1]:8000", "a;b", "box.lan:8000"],
)
def test_impossible_host_name_stops_the_start(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="ALLOWED_HOSTS has .* Write names without scheme, port and path"):
        allowed_hosts(["agents.example.org", text])


def test_host_names_can_have_each_valid_form() -> None:
    names = ["*", ".example.org", "BOX.lan", "192.168.1.5", "a_b", " fe80::1 ", "[::1]", "bücher.example", ""]
    assert allowed_hosts(names) == ["*", ".example.org", "BOX.lan", "192.168.1.5", "a_b", "[fe80::1]", "[::1]"] + [
        "bücher.example"
    ]


@pytest.mark.parametrize(
    "text",
    ["agents.example.org", "https://a.example/x", "ftp://a", "https://", "https://a/?c", "https://[::1", "https://a:x"],
)
def test_impossible_origin_stops_the_start(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="CSRF_TRUSTED_ORIGINS has .* Write addresses without a path"):
        trusted_origins([text])


def test_origins_are_normalized_as_in_browsers(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [
        "https://A.example/",
        "https://a.example:443",
        "http://a.example:80/",
        "http://a:8080",
        "https://*.b.example",
    ]
    expected = ["https://a.example", "https://a.example", "http://a.example", "http://a:8080", "https://*.b.example"]
    assert trusted_origins(given) == expected
    monkeypatch.setenv("AGENTSITE_URL", "https://A.example:443/")
    assert public_url() == "https://a.example"

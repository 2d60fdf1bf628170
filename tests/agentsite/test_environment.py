"""Settings from files, as Docker's secrets are."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from agentsite.environment import env


def test_a_file_has_the_value_of_a_setting_without_the_line_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(" a key \n")
    monkeypatch.setenv("TEST_FROM_FILE_FILE", str(tmp_path / "key"))
    assert env.str("TEST_FROM_FILE") == "a key"


def test_an_empty_file_is_as_good_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").touch()
    monkeypatch.setenv("TEST_EMPTY_FILE", str(tmp_path / "key"))
    assert env.str("TEST_EMPTY", default="") == ""


def test_a_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_MISSING_FILE", "/nowhere/key")
    with pytest.raises(ImproperlyConfigured, match="TEST_MISSING_FILE names a file that cannot be read.*/nowhere/key"):
        env.str("TEST_MISSING")

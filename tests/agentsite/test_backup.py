"""Errors of backups, and files that agents own. tests/team/test_move.py tests an entire backup and restore."""

import errno
import json
import os
import tarfile
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import CommandError

from agentsite.backup import BackupError, files, rows
from agentsite.backup.manifest import Manifest
from agentsite.management.commands import restore
from tasks_app.models import EngineProcess


@pytest.fixture
def places(settings: Any, tmp_path: Path) -> Path:
    for name in ("WORKSPACES_DIR", "HOMES_DIR", "VERSIONS_DIR", "LIBRARY_DIR", "SKILLS_DIR", "RUN_DIR"):
        setattr(settings, name, tmp_path / "var" / name.lower())
    workspaces = Path(settings.WORKSPACES_DIR)
    workspaces.mkdir(parents=True)
    return workspaces


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup without rows."""
    folder = tmp_path / "backup"
    (folder / "rows").mkdir(parents=True)
    Manifest().save(folder)
    return folder


def archived(folder: Path) -> files.Archive:
    folder.mkdir()
    return dict(files.write(folder))["workspaces_dir"]


def test_files_are_restored_exactly_and_links_are_not_followed(places: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("not for agents")
    (places / "a" / "empty").mkdir(parents=True)
    (places / "a" / "program").write_bytes(b"\0binary")
    (places / "a" / "program").chmod(0o751)
    (places / "a" / "link").symlink_to(tmp_path / "outside")
    (places / "a" / "ü \udcff\n").write_text("an odd name")
    os.mkfifo(places / "a" / "pipe")
    archive = archived(tmp_path / "backup")
    assert (archive.files, archive.left_out) == (2, ["a/pipe"])
    assert b"not for agents" not in (tmp_path / "backup" / "workspaces_dir.tar").read_bytes()
    (places / "newer").write_text("gone with the rest")
    for _, fresh in files.unpack(tmp_path / "backup"):
        files.replace_folder(fresh)
    assert sorted(path.name for path in places.rglob("*")) == ["a", "empty", "link", "program", "ü \udcff\n"]
    assert (places / "a" / "program").read_bytes() == b"\0binary"
    assert (places / "a" / "program").stat().st_mode & 0o777 == 0o751
    assert (places / "a" / "link").readlink() == tmp_path / "outside"


@pytest.mark.parametrize("code", [errno.ELOOP, errno.ENOTDIR, errno.EACCES])
def test_agents_cannot_prevent_a_backup(
    places: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Agents can replace a file by a link at the last moment, or make it unreadable for its owner."""
    for name in ("mine", "theirs"):
        (places / name).mkdir()
        (places / name / "file").write_text(name)
    opened = os.open

    def fail(path: Any, *given: Any, **options: Any) -> int:
        if path == "file" and os.readlink(f"/proc/self/fd/{options['dir_fd']}").endswith("mine"):
            raise OSError(code, os.strerror(code))
        return opened(path, *given, **options)

    monkeypatch.setattr(os, "open", fail)
    archive = archived(tmp_path / "backup")
    assert (archive.files, archive.left_out) == (1, ["mine/file"])


def test_backup_needs_read_access_to_all_files(places: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (places / "file").write_text("")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    monkeypatch.setattr(files.Archive, "_add_file", Mock(side_effect=PermissionError))
    with pytest.raises(BackupError, match="the server's user or as root"):
        archived(tmp_path / "backup")


def test_file_that_shrinks_during_backup_keeps_the_archive_valid(
    places: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (places / "log").write_text("0123456789")
    (places / "next").write_text("whole")
    info = files._info

    def shrink(path: str, *given: Any) -> tarfile.TarInfo:
        os.truncate(places / "log", 4)
        return info(path, *given)

    monkeypatch.setattr(files, "_info", shrink)
    archived(tmp_path / "backup")
    (_, fresh), *_ = files.unpack(tmp_path / "backup")
    assert (fresh / "log").read_bytes() == b"0123" + bytes(6)
    assert (fresh / "next").read_text() == "whole"


@pytest.mark.parametrize("name", ["../escaped", "/escaped", "link", "link/escaped", "a/../../escaped", "device"])
def test_archive_with_escaping_paths_is_rejected(name: str, places: Path, tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir()
    with tarfile.open(tmp_path / "backup" / "workspaces_dir.tar", "w") as tar:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        tar.addfile(link)
        member = tarfile.TarInfo(name)
        member.type = tarfile.CHRTYPE if name == "device" else tarfile.REGTYPE
        tar.addfile(member)
    with pytest.raises(BackupError, match="an entry that no backup has"):
        list(files.unpack(tmp_path / "backup"))
    assert not list(tmp_path.rglob("escaped"))


def test_backup_needs_an_empty_folder(db: None, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(CommandError, match="not empty"):
        call_command("backup", str(tmp_path))
    (tmp_path / "later").mkdir()
    assert (tmp_path / "later").stat().st_mode & 0o077, "the process that called it makes its files as before"


def test_incomplete_or_changed_backup_is_rejected(db: None, backup: Path) -> None:
    Manifest.load(backup)
    (backup / "rows" / "tasks.jsonl").write_text("[]")
    Manifest.load(backup).save(backup)
    (backup / "rows" / "tasks.jsonl").write_text("[1]")
    with pytest.raises(BackupError, match="Not as it was.*tasks.jsonl"):
        Manifest.load(backup)
    (backup / "manifest.json").unlink()
    with pytest.raises(BackupError, match="not finished"):
        Manifest.load(backup)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"keys": ["of another installation"]}, "FIELD_ENCRYPTION_KEY lacks 1 of the 1 keys"),
        ({"format": 2}, "format 2"),
        ({"migrations": [["tasks_app", "9999_of_tomorrow"]]}, "tasks_app.9999_of_tomorrow"),
    ],
)
def test_backup_of_another_version_or_key_is_rejected(
    change: dict[str, Any], words: str, db: None, backup: Path
) -> None:
    said = json.loads((backup / "manifest.json").read_text()) | change
    (backup / "manifest.json").write_text(json.dumps(said))
    with pytest.raises(CommandError, match=words):
        call_command("restore", str(backup))


def test_restore_needs_an_idle_and_empty_installation(
    db: None, backup: Path, places: Path, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore.Command, "_tables_of", lambda *_: apps)  # tests run without migrations
    EngineProcess.objects.beat("here:1")
    with pytest.raises(CommandError, match="A worker runs, or ran seconds ago: here:1"):
        call_command("restore", str(backup))
    EngineProcess.objects.all().delete()
    (places / "a").touch()
    with pytest.raises(CommandError, match=f"not empty: {places}, users in the database"):
        call_command("restore", str(backup))
    assert type(alice).objects.filter(pk=alice.pk).exists()


def test_rows_that_the_database_rejects_change_nothing(transactional_db: None, backup: Path, alice: Any) -> None:
    columns = [field.attname for field in type(alice)._meta.local_concrete_fields]
    row = [None for _ in columns]
    (backup / "rows" / "accounts_user.jsonl").write_text(f"{json.dumps(columns)}\n{json.dumps(row)}\n")
    with pytest.raises(BackupError, match="as it was"):
        with rows.replace_all(apps):
            list(rows.read(backup / "rows", apps))
    assert type(alice).objects.filter(pk=alice.pk).exists()

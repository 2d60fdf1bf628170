"""Tests of skills in the installation's folders: they are read in their current state, and their faults are
reported.
"""

import os
import zipfile
from pathlib import Path

import pytest

from tools_app.skills.skill_files import (
    BadSkill,
    description_remark,
    installed_skills,
    parse_skill,
    refused_skills,
    uploaded_skill,
)


def text(name: str = "folding", description: str = "Fold maps.", body: str = "Fold along the crease.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folding"
    folder.mkdir()
    (folder / "SKILL.md").write_text(text())
    return folder


def test_a_change_of_any_of_its_files_is_seen(folder: Path) -> None:
    assert installed_skills(folder.parent)["folding"].load().files == {}
    (folder / "map.txt").write_text("a map")
    assert installed_skills(folder.parent)["folding"].load().files == {"map.txt": b"a map"}
    times = os.stat(folder / "map.txt")
    (folder / "map.txt").write_text("b map")
    os.utime(folder / "map.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert installed_skills(folder.parent)["folding"].load().files == {"map.txt": b"b map"}


def test_executable_files_are_detected(folder: Path) -> None:
    for name in ("fold.sh", "map.txt"):
        (folder / name).write_text("x")
    (folder / "fold.sh").chmod(0o755)
    loaded = installed_skills(folder.parent)["folding"].load()
    assert (set(loaded.files), loaded.executable) == ({"fold.sh", "map.txt"}, {"fold.sh"})


@pytest.mark.parametrize("length", [1, 1024, 1025, 2048])
def test_long_description_is_accepted_with_a_remark(length: int) -> None:
    skill = parse_skill(text(description="x" * length))
    assert len(skill.description) == length
    assert ("1,024" in description_remark(skill.description)) == (length > 1024)


def test_a_longer_one_is_refused() -> None:
    with pytest.raises(BadSkill, match="2048 characters"):
        parse_skill(text(description="x" * 2049))


def test_refused_skills_are_listed_with_reasons(folder: Path) -> None:
    for name, content in (("broken", b"no front matter"), ("latin", text(body="\xfc").encode("latin-1"))):
        (folder.parent / name).mkdir()
        (folder.parent / name / "SKILL.md").write_bytes(content)
    (folder.parent / "closed" / "SKILL.md").mkdir(parents=True)
    assert "folding" in installed_skills(folder.parent)
    reasons = {path.parent.name: reason for path, reason in refused_skills(folder.parent).items()}
    assert reasons.keys() == {"broken", "latin", "closed"}
    assert "begins with front matter" in reasons["broken"]
    assert "not UTF-8 text" in reasons["latin"]
    assert "cannot be read" in reasons["closed"]


def test_a_name_may_be_as_long_as_the_format_allows() -> None:
    assert parse_skill(text(name="a" * 64)).name == "a" * 64
    with pytest.raises(BadSkill, match="at most 64"):
        parse_skill(text(name="a" * 65))


def test_executable_files_of_an_archive_are_detected(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text(text())
    (tmp_path / "fold.sh").write_text("x")
    (tmp_path / "fold.sh").chmod(0o755)
    with zipfile.ZipFile(tmp_path / "skill.zip", "w") as archive:
        for name in ("SKILL.md", "fold.sh"):
            archive.write(tmp_path / name, name)
        archive.writestr("plain.txt", "x")
    skill = uploaded_skill("skill.zip", (tmp_path / "skill.zip").read_bytes())
    assert (set(skill.files), skill.executable) == ({"fold.sh", "plain.txt"}, {"fold.sh"})

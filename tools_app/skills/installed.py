"""Skills of the installation: the ones that are shipped, and folders that operators add."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tools_app.skills.reading import EXECUTABLE, FILE, BadSkill, SkillText, decode_skill, parse_skill

logger = logging.getLogger(__name__)
SHIPPED = Path(__file__).with_name("shipped")


@dataclass(frozen=True, kw_only=True)
class SkillFolder:
    """`path` is its SKILL.md, and `description` as that is now."""

    path: Path
    description: str

    def load(self) -> SkillText:
        """With its files, read now: a change of any of them is seen. Raises BadSkill."""
        try:
            beside = {str(file.relative_to(self.path.parent)): file for file in self._beside()}
            files = {name: file.read_bytes() for name, file in beside.items()}
            executable = {name for name, file in beside.items() if file.stat().st_mode & EXECUTABLE}
            return parse_skill(decode_skill(self.path.read_bytes()), files, executable)
        except OSError as error:
            raise BadSkill(f"The skill in {self.path.parent} cannot be read: {error.strerror}.") from error

    def _beside(self) -> Iterator[Path]:
        for file in sorted(self.path.parent.rglob("*")):
            if file.is_file() and not file.is_symlink() and file != self.path:
                yield file


def installed_skills(*places: Path) -> Mapping[str, SkillFolder]:
    """By name; a later place hides an earlier one. A SKILL.md that has changed is read again."""
    found: dict[str, SkillFolder] = {}
    for path in _paths(*places):
        if not isinstance(head := _head(path), BadSkill):
            found[head.name] = SkillFolder(path=path, description=head.description)
    return found


def refused_skills(*places: Path) -> Mapping[Path, str]:
    """The SKILL.md of each skill that is left out, with the reason."""
    return {path: str(head) for path in _paths(*places) if isinstance(head := _head(path), BadSkill)}


def _paths(*places: Path) -> Iterator[Path]:
    for place in (SHIPPED, *places):
        yield from sorted(place.glob(f"*/{FILE}"))


def _head(path: Path) -> SkillText | BadSkill:
    try:
        status = path.stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        return BadSkill(f"It cannot be read: {error.strerror}.")


@lru_cache(maxsize=200)
def _read(path: Path, changed: int, size: int) -> SkillText | BadSkill:
    """Without its files. Raises OSError."""
    try:
        return parse_skill(decode_skill(path.read_bytes()))
    except BadSkill as error:
        logger.warning("%s is left out: %s", path, error)
        return error

"""The skills that come with the installation: those we ship, and the folders below a place that operators may fill."""

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from tools_app.skills.reading import FILE, BadSkill, SkillText, read

logger = logging.getLogger(__name__)
SHIPPED = Path(__file__).with_name("shipped")


def installed(*places: Path) -> Mapping[str, SkillText]:
    """By name; a later place hides an earlier one. Read anew when a file of it changed."""
    found: dict[str, SkillText] = {}
    for place in (SHIPPED, *places):
        for path in sorted(place.glob(f"*/{FILE}")):
            if skill := _read(path, path.stat().st_mtime_ns):
                found[skill.name] = skill
    return found


@lru_cache(maxsize=200)
def _read(path: Path, changed: int) -> SkillText | None:
    try:
        return read(path.read_text(), {name: file.read_bytes() for name, file in _beside(path)})
    except (BadSkill, UnicodeDecodeError) as error:
        logger.warning("%s is left out: %s", path, error)
        return None


def _beside(path: Path) -> Sequence[tuple[str, Path]]:
    folder = path.parent
    inside = (file for file in sorted(folder.rglob("*")) if file.is_file() and not file.is_symlink())
    return [(str(file.relative_to(folder)), file) for file in inside if file != path]

"""A skill that is uploaded: a SKILL.md alone, or a zip with one and its files."""

import io
import lzma
import zipfile
import zlib
from pathlib import PurePosixPath

from tools_app.skills.reading import EXECUTABLE, FILE, BadSkill, SkillText, read, text_of

# What zipfile raises for bytes that are no archive, or a damaged, locked or strange one.
_UNREADABLE = (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, lzma.LZMAError, EOFError, OSError)
LARGEST = 5 * 1000**2  # bytes of all files together
MOST_FILES = 100


def unpacked(name: str, data: bytes) -> SkillText:
    """Raises BadSkill. Nothing is written anywhere."""
    if not name.lower().endswith(".zip"):
        return read(text_of(data))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _from(archive)
    except _UNREADABLE as error:
        raise BadSkill("This is no zip archive that can be read.") from error


def _from(archive: zipfile.ZipFile) -> SkillText:
    every = [info for info in archive.infolist() if not info.is_dir()]
    if len(every) > MOST_FILES or sum(info.file_size for info in every) > LARGEST:
        raise BadSkill(f"A skill has at most {MOST_FILES} files and {LARGEST // 1000**2} MB.")
    inside = {info: path for info in every if _is_inside(path := PurePosixPath(info.filename))}
    found = [path for path in inside.values() if path.name == FILE]
    if not found:
        raise BadSkill(f"There is no {FILE} in the archive.")
    root = min(found, key=lambda path: len(path.parts)).parent
    members = {str(path.relative_to(root)): info for info, path in inside.items() if path.is_relative_to(root)}
    files = {path: _bytes(archive, info) for path, info in members.items()}
    executable = {path for path, info in members.items() if info.external_attr >> 16 & EXECUTABLE}  # Unix's mode
    return read(text_of(files.pop(FILE)), files, executable - {FILE})


def _is_inside(path: PurePosixPath) -> bool:
    return ".." not in path.parts and not path.is_absolute()


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """What the head of a member says of its size need not be true."""
    with archive.open(info) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise BadSkill(f"A skill has at most {LARGEST // 1000**2} MB.")
    return data

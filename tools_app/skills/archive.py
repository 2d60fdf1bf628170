"""A skill that is uploaded: a SKILL.md alone, or a zip with one and its files."""

import io
import lzma
import zipfile
import zlib
from pathlib import PurePosixPath

from tools_app.skills.reading import FILE, BadSkill, SkillText, read

# What zipfile raises for bytes that are no archive, or a damaged, locked or strange one.
_UNREADABLE = (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, lzma.LZMAError, EOFError, OSError)
LARGEST = 5 * 1000**2  # bytes of all files together
MOST_FILES = 100


def unpacked(name: str, data: bytes) -> SkillText:
    """Raises BadSkill. Nothing is written anywhere."""
    if not name.lower().endswith(".zip"):
        return read(_text(data))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _from(archive)
    except _UNREADABLE as error:
        raise BadSkill("This is no zip archive that can be read.") from error


def _from(archive: zipfile.ZipFile) -> SkillText:
    members = [info for info in archive.infolist() if not info.is_dir()]
    if len(members) > MOST_FILES or sum(info.file_size for info in members) > LARGEST:
        raise BadSkill(f"A skill has at most {MOST_FILES} files and {LARGEST // 1000**2} MB.")
    inside = {info: path for info in members if _is_inside(path := PurePosixPath(info.filename))}
    found = [path for path in inside.values() if path.name == FILE]
    if not found:
        raise BadSkill(f"There is no {FILE} in the archive.")
    root = min(found, key=lambda path: len(path.parts)).parent
    files = {}
    for info, path in inside.items():
        if path.is_relative_to(root):
            files[str(path.relative_to(root))] = _bytes(archive, info)
    return read(_text(files.pop(FILE)), files)


def _is_inside(path: PurePosixPath) -> bool:
    return ".." not in path.parts and not path.is_absolute()


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """What the head of a member says of its size need not be true."""
    with archive.open(info) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise BadSkill(f"A skill has at most {LARGEST // 1000**2} MB.")
    return data


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadSkill(f"{FILE} is no UTF-8 text.") from error

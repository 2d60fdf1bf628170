"""Skills as files: a SKILL.md with front matter and instructions, alone, in a folder, or in a zip archive."""

import io
import logging
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath

import yaml

from tools_app.errors import ToolError

logger = logging.getLogger(__name__)
SHIPPED = Path(__file__).with_name("shipped")
FILE = "SKILL.md"
EXECUTABLE = 0o111  # mask of a file's mode
LONGEST = 100_000  # characters of instructions
LONGEST_FRONT = 20_000
LONGEST_NAME = 64  # the format's maximum, as is the usual description
LONGEST_DESCRIPTION = 2048  # characters
USUAL_DESCRIPTION = 1024  # the format's maximum: https://agentskills.io/specification
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_UNKEPT = re.compile("[\0\ud800-\udfff]")  # characters that databases cannot store and requests cannot carry
_FRONT = re.compile(r"\A---(?:[^\S\n]*+\n)++(.*?)\n---[^\S\n]*+(?:\n|\Z)(.*)\Z", re.DOTALL)

# Errors of zipfile for data that is no archive, or a damaged, encrypted or unsupported one.
UNREADABLE = (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, lzma.LZMAError, EOFError, OSError)
LARGEST = 5 * 1000**2  # bytes of all files together
MOST_FILES = 100


class BadSkill(ToolError):
    """This is not a valid skill."""


@dataclass(frozen=True, kw_only=True)
class SkillText:
    """A skill. `files` maps paths in the skill's folder to contents, without SKILL.md; `executable` are paths of
    programs.
    """

    name: str
    description: str
    body: str
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    executable: Collection[str] = ()

    @property
    def for_model(self) -> str:
        """Return the text for the model."""
        return f'<skill name="{self.name}">\n{self.body}\n</skill>'


def check_name(name: str) -> None:
    """Check the name, which is also the name of a folder.

    Raises: BadSkill.
    """
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise BadSkill(f"The name of a skill has small letters, digits and single hyphens, at most {LONGEST_NAME}.")


def parse_skill(text: str, files: Mapping[str, bytes] | None = None, executable: Collection[str] = ()) -> SkillText:
    """Parse the text of a SKILL.md.

    Raises: BadSkill, with the reason as a sentence.
    """
    match = _FRONT.match(text.replace("\r\n", "\n").lstrip("\ufeff"))
    if not match:
        raise BadSkill(f"{FILE} begins with front matter: a line of three dashes, name and description, three dashes.")
    front = _front(match[1])
    name, description = (_words(front.get(key)) for key in ("name", "description"))
    check_name(name)
    if not description or len(description) > LONGEST_DESCRIPTION:
        raise BadSkill(
            f"A skill has a description of at most {LONGEST_DESCRIPTION} characters: it says when to use it."
        )
    body = match[2].strip()
    if not body or len(body) > LONGEST:
        raise BadSkill(f"A skill has instructions, of at most {LONGEST} characters.")
    if _UNKEPT.search(description + body):
        raise BadSkill("A skill's text has characters that are none: a NUL, or half of one.")
    return SkillText(name=name, description=description, body=body, files=files or {}, executable=executable)


def decode_skill(data: bytes) -> str:
    """Decode the bytes of a SKILL.md.

    Raises: BadSkill.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadSkill(f"{FILE} is not UTF-8 text.") from error


def remark(description: str) -> str:
    """Return a remark about an accepted but unusually long description, or ""."""
    if len(description) <= USUAL_DESCRIPTION:
        return ""
    return (
        f"Its description has {len(description):,} characters. It is taken here; other programs take at most "
        f"{USUAL_DESCRIPTION:,}, and all of it is part of each prompt."
    )


def _front(text: str) -> Mapping[str, object]:
    """Return the fields as texts. Invalid dates are not parsed, and merge keys are not expanded."""
    if len(text) > LONGEST_FRONT:
        raise BadSkill(f"The front matter of {FILE} has at most {LONGEST_FRONT} characters.")
    try:
        front = yaml.load(text, yaml.BaseLoader)  # noqa: S506  it creates only strings, lists and mappings
    except (yaml.YAMLError, RecursionError) as error:
        raise BadSkill(f"The front matter of {FILE} is not YAML: {str(error).splitlines()[0]}.") from error
    if not isinstance(front, dict):
        raise BadSkill(f"The front matter of {FILE} names no fields.")
    return front


def _words(value: object) -> str:
    """Return the words of a text. A list is ignored: YAML aliases can make it larger than the memory."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def uploaded_skill(name: str, data: bytes) -> SkillText:
    """Read an upload in memory.

    Raises: BadSkill.
    """
    if not name.lower().endswith(".zip"):
        return parse_skill(decode_skill(data))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _from(archive)
    except UNREADABLE as error:
        raise BadSkill("This is not a readable zip archive.") from error


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
    executable = {path for path, info in members.items() if info.external_attr >> 16 & EXECUTABLE}  # the Unix mode
    return parse_skill(decode_skill(files.pop(FILE)), files, executable - {FILE})


def _is_inside(path: PurePosixPath) -> bool:
    return ".." not in path.parts and not path.is_absolute()


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member's content. It can be larger than its header declares."""
    with archive.open(info) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise BadSkill(f"A skill has at most {LARGEST // 1000**2} MB.")
    return data


@dataclass(frozen=True, kw_only=True)
class SkillFolder:
    """A skill in a folder. `path` is its SKILL.md."""

    path: Path
    description: str

    def load(self) -> SkillText:
        """Read the skill with its files from disk.

        Raises: BadSkill.
        """
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
    """Return the skills by name. A later folder overrides an earlier one. A changed SKILL.md is read again."""
    found: dict[str, SkillFolder] = {}
    for path in _paths(*places):
        if not isinstance(head := _head(path), BadSkill):
            found[head.name] = SkillFolder(path=path, description=head.description)
    return found


def state_of(place: str) -> tuple[object, ...]:
    """Return a value that changes whenever a SKILL.md in the folder does. It takes a tenth of the time to list them."""
    try:
        return tuple(_states_in(place, sorted(os.listdir(place))))
    except OSError:
        return ()


def _states_in(place: str, names: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    for name in names:
        with suppress(OSError):
            status = os.stat(f"{place}/{name}/{FILE}")
            yield name, status.st_mtime_ns, status.st_size


def refused_skills(*places: Path) -> Mapping[Path, str]:
    """Return the reasons for skills that are left out, by the path of their SKILL.md."""
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
    """Read a skill without its files.

    Raises: OSError.
    """
    try:
        return parse_skill(decode_skill(path.read_bytes()))
    except BadSkill as error:
        logger.warning("%s is left out: %s", path, error)
        return error

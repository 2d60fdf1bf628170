"""Skills as files: a SKILL.md with front matter and instructions, alone, in a folder, or in a zip archive."""

import io
import logging
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath

import yaml

from tools_app.errors import ToolError

logger = logging.getLogger(__name__)
_BUILT_IN_FOLDER = Path(__file__).with_name("shipped")
FILE_NAME = "SKILL.md"
EXECUTABLE = 0o111  # mask of a file's mode
MAX_BODY = 100_000  # characters of instructions
MAX_FRONT_MATTER = 20_000
MAX_NAME = 64  # the format's maximum, as is the usual description
MAX_DESCRIPTION = 2048  # characters
STANDARD_DESCRIPTION = 1024  # the format's maximum: https://agentskills.io/specification
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # characters that databases cannot store and requests cannot carry
_FRONT_MATTER = re.compile(r"\A---(?:[^\S\n]*+\n)++(.*?)\n---[^\S\n]*+(?:\n|\Z)(.*)\Z", re.DOTALL)

# Errors of zipfile for data that is no archive, or a damaged, encrypted or unsupported one.
ARCHIVE_ERRORS = (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, lzma.LZMAError, EOFError, OSError)
MAX_BYTES = 5 * 1000**2  # bytes of all files together
MAX_FILES = 100


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
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise BadSkill(f"The name of a skill has small letters, digits and single hyphens, at most {MAX_NAME}.")


def parse_skill(text: str, files: Mapping[str, bytes] | None = None, executable: Collection[str] = ()) -> SkillText:
    """Parse the text of a SKILL.md.

    Raises: BadSkill, with the reason as a sentence.
    """
    match = _FRONT_MATTER.match(text.replace("\r\n", "\n").lstrip("\ufeff"))
    if not match:
        raise BadSkill(
            f"{FILE_NAME} begins with front matter: a line of three dashes, name and description, three dashes."
        )
    fields = _front_matter(match[1])
    name, description = _one_line(fields.get("name")), _one_line(fields.get("description"))
    check_name(name)
    if not description or len(description) > MAX_DESCRIPTION:
        raise BadSkill(f"A skill has a description of at most {MAX_DESCRIPTION} characters: it says when to use it.")
    body = match[2].strip()
    if not body or len(body) > MAX_BODY:
        raise BadSkill(f"A skill has instructions, of at most {MAX_BODY} characters.")
    if _UNSTORABLE.search(description + body):
        raise BadSkill("A skill's text has characters that are none: a NUL, or half of one.")
    return SkillText(name=name, description=description, body=body, files=files or {}, executable=executable)


def decode_skill(data: bytes) -> str:
    """Decode the bytes of a SKILL.md.

    Raises: BadSkill.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadSkill(f"{FILE_NAME} is not UTF-8 text.") from error


def description_remark(description: str) -> str:
    """Return a description_remark about an accepted but unusually long description, or ""."""
    if len(description) <= STANDARD_DESCRIPTION:
        return ""
    return (
        f"Its description has {len(description):,} characters. It is taken here; other programs take at most "
        f"{STANDARD_DESCRIPTION:,}, and all of it is part of each prompt."
    )


def _front_matter(text: str) -> Mapping[str, object]:
    """Return the fields as texts. Invalid dates are not parsed, and merge keys are not expanded."""
    if len(text) > MAX_FRONT_MATTER:
        raise BadSkill(f"The front matter of {FILE_NAME} has at most {MAX_FRONT_MATTER} characters.")
    try:
        fields = yaml.load(text, yaml.BaseLoader)  # noqa: S506  it creates only strings, lists and mappings
    except (yaml.YAMLError, RecursionError) as error:
        raise BadSkill(f"The front matter of {FILE_NAME} is not YAML: {str(error).splitlines()[0]}.") from error
    if not isinstance(fields, dict):
        raise BadSkill(f"The front matter of {FILE_NAME} names no fields.")
    return fields


def _one_line(value: object) -> str:
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
            return _unpacked(archive)
    except ARCHIVE_ERRORS as error:
        raise BadSkill("This is not a readable zip archive.") from error


def _unpacked(archive: zipfile.ZipFile) -> SkillText:
    all_files = [info for info in archive.infolist() if not info.is_dir()]
    if len(all_files) > MAX_FILES or sum(info.file_size for info in all_files) > MAX_BYTES:
        raise BadSkill(f"A skill has at most {MAX_FILES} files and {MAX_BYTES // 1000**2} MB.")
    paths = {info: PurePosixPath(info.filename) for info in all_files}
    safe_paths = {info: path for info, path in paths.items() if ".." not in path.parts and not path.is_absolute()}
    skill_paths = [path for path in safe_paths.values() if path.name == FILE_NAME]
    if not skill_paths:
        raise BadSkill(f"There is no {FILE_NAME} in the archive.")
    root = min(skill_paths, key=lambda path: len(path.parts)).parent
    members = {str(path.relative_to(root)): info for info, path in safe_paths.items() if path.is_relative_to(root)}
    files = {path: _content(archive, info) for path, info in members.items()}
    executable = {path for path, info in members.items() if info.external_attr >> 16 & EXECUTABLE}  # the Unix mode
    return parse_skill(decode_skill(files.pop(FILE_NAME)), files, executable - {FILE_NAME})


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member's content. It can be larger than its header declares."""
    with archive.open(info) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise BadSkill(f"A skill has at most {MAX_BYTES // 1000**2} MB.")
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
            folder = self.path.parent
            paths = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if self._is_file(path)}
            files = {name: path.read_bytes() for name, path in paths.items()}
            executable = {name for name, path in paths.items() if path.stat().st_mode & EXECUTABLE}
            return parse_skill(decode_skill(self.path.read_bytes()), files, executable)
        except OSError as error:
            raise BadSkill(f"The skill in {self.path.parent} cannot be read: {error.strerror}.") from error

    def _is_file(self, path: Path) -> bool:
        """Return whether the path is a file of the skill other than its SKILL.md."""
        return path.is_file() and not path.is_symlink() and path != self.path


def installed_skills(*folders: Path) -> Mapping[str, SkillFolder]:
    """Return the skills by name. A later folder overrides an earlier one. A changed SKILL.md is read again."""
    skills: dict[str, SkillFolder] = {}
    for path in _paths(*folders):
        head = _cached_head(path)
        if not isinstance(head, BadSkill):
            skills[head.name] = SkillFolder(path=path, description=head.description)
    return skills


def state_of(folder: str) -> tuple[object, ...]:
    """Return a value that changes whenever a SKILL.md in the folder does. It takes a tenth of the time to list them."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ()
    states = []
    for name in names:
        with suppress(OSError):
            status = os.stat(f"{folder}/{name}/{FILE_NAME}")
            states.append((name, status.st_mtime_ns, status.st_size))
    return tuple(states)


def refused_skills(*folders: Path) -> Mapping[Path, str]:
    """Return the reasons for skills that are left out, by the path of their SKILL.md."""
    heads = {path: _cached_head(path) for path in _paths(*folders)}
    return {path: str(head) for path, head in heads.items() if isinstance(head, BadSkill)}


def _paths(*folders: Path) -> Iterator[Path]:
    for folder in (_BUILT_IN_FOLDER, *folders):
        yield from sorted(folder.glob(f"*/{FILE_NAME}"))


def _cached_head(path: Path) -> SkillText | BadSkill:
    try:
        status = path.stat()
        return _read(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        return BadSkill(f"It cannot be read: {error.strerror}.")


@lru_cache(maxsize=200)
def _read(path: Path, modified_ns: int, size: int) -> SkillText | BadSkill:
    """Read a skill without its files.

    Raises: OSError.
    """
    try:
        return parse_skill(decode_skill(path.read_bytes()))
    except BadSkill as error:
        logger.warning("ignored the skill %s: %s", path, error)
        return error

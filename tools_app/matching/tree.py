"""A walk over the files of a folder that applies .gitignore files and follows no links.

The server's own folder in a workspace is only searched if it is named.
"""

import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools_app.documents.formats import is_document
from tools_app.files import RESULTS, as_text, safe_open
from tools_app.files.encoding import UTF_8, detect_encoding
from tools_app.files.paths import MAX_DEPTH
from tools_app.matching.patterns import IgnoreRule, ignore_rules, is_ignored

MAX_SIZE = 10 * 1000**2  # bytes; larger files are not searched
_SIGNATURE = 1024  # bytes at the start of a file

_MAX_NAMED = 5  # paths named for each reason
_MAX_PATH_WIDTH = 100  # characters of a path


class UnsearchableFile(Exception):
    """The file cannot be searched. The message is the reason."""


class DocumentFound(Exception):
    """The file is a document, whose text a separate process reads."""


class UnsearchedFiles:
    """Paths that were not searched, by reason."""

    def __init__(self) -> None:
        self._named: defaultdict[str, list[str]] = defaultdict(list)
        self._unnamed: defaultdict[str, int] = defaultdict(int)

    def add(self, path: str, reason: str) -> None:
        if len(self._named[reason]) < _MAX_NAMED:
            name = as_text(path)
            self._named[reason].append(name if len(name) <= _MAX_PATH_WIDTH else f"…{name[-_MAX_PATH_WIDTH:]}")
        else:
            self._unnamed[reason] += 1

    def lines(self) -> list[str]:
        """Return a line for each reason: the first paths, the number of others, and the reason."""
        lines = []
        for reason, paths in self._named.items():
            count = self._unnamed[reason]
            more = f" and {count} more" if count else ""
            lines.append(f"{', '.join(paths)}{more} ({reason})")
        return lines


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundFile:
    """A file of the walk. `folder` stays open only until the next file is requested."""

    path: str
    name: str
    folder: int

    def modified(self) -> float:
        """Return seconds since the epoch, or 0 if the file is gone or inaccessible."""
        try:
            return os.lstat(self.name, dir_fd=self.folder).st_mtime
        except OSError:
            return 0

    def text(self) -> str:
        """Return the decoded text, '' if the file is gone.

        Raises: UnsearchableFile, DocumentFound
        """
        try:
            data = _read(self.folder, self.name, documents_apart=True)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise UnsearchableFile("not readable") from error
        if not (encoding := detect_encoding(data)) or (encoding == UTF_8 and b"\0" in data):
            raise UnsearchableFile("binary")
        return encoding.readable(data).replace("\r\n", "\n")


def files(root: str, names: Sequence[str], unsearched: UnsearchedFiles) -> Iterator[FoundFile]:
    """Yield all files at `names` below `root`, sorted by name within each folder. Rules of parent folders apply.

    `unsearched` collects links and inaccessible folders.

    Raises: OSError if there is nothing at `names`.
    """
    rules: list[IgnoreRule] = []
    for depth in range(len(names)):
        with safe_open.folder(root, names[:depth]) as above:
            rules += _rules_in(above, _prefix(names[:depth]))
    with safe_open.folder(root, names[:-1]) as parent:
        if names and stat.S_ISREG(os.lstat(names[-1], dir_fd=parent).st_mode):
            yield FoundFile(path="/".join(names), name=names[-1], folder=parent)
            return
    with safe_open.folder(root, names) as folder:
        yield from _walk(folder, _prefix(names), rules, unsearched)


def _walk(folder: int, prefix: str, rules: Sequence[IgnoreRule], unsearched: UnsearchedFiles) -> Iterator[FoundFile]:
    rules = [*rules, *_rules_in(folder, prefix)]
    with os.scandir(folder) as items:
        entries = sorted(items, key=lambda item: item.name)
    for entry in entries:
        path = prefix + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or path == RESULTS or is_ignored(rules, path, is_folder):
            continue
        if is_folder and path.count("/") < MAX_DEPTH:
            yield from _inside(folder, entry.name, path + "/", rules, unsearched)
        elif is_folder:
            unsearched.add(path, f"more than {MAX_DEPTH} folders deep")
        elif entry.is_symlink():
            unsearched.add(path, "links, which are not followed")
        elif entry.is_file(follow_symlinks=False):
            yield FoundFile(path=path, name=entry.name, folder=folder)


def _inside(
    parent: int, name: str, prefix: str, rules: Sequence[IgnoreRule], unsearched: UnsearchedFiles
) -> Iterator[FoundFile]:
    try:
        folder = safe_open.open_folder(parent, name)
    except FileNotFoundError:  # already gone
        return
    except OSError:
        unsearched.add(prefix, "not readable")
        return
    try:
        yield from _walk(folder, prefix, rules, unsearched)
    finally:
        os.close(folder)


def _rules_in(folder: int, prefix: str) -> list[IgnoreRule]:
    try:
        return ignore_rules(_read(folder, ".gitignore").decode(errors="replace"), prefix)
    except (OSError, UnsearchableFile):
        return []


def _read(folder: int, name: str, *, documents_apart: bool = False) -> bytes:
    """Return the content of a file.

    Raises: OSError, UnsearchableFile, DocumentFound for a document if `documents_apart` is set.
    """
    with os.fdopen(safe_open.open_file(folder, name), "rb") as file:
        if documents_apart and is_document(file.peek(_SIGNATURE), name):
            raise DocumentFound
        data = file.read(MAX_SIZE + 1)
    if len(data) > MAX_SIZE:
        raise UnsearchableFile(f"over {MAX_SIZE // 1000**2} MB: use the shell")
    return data


def _prefix(names: Sequence[str]) -> str:
    return "".join(name + "/" for name in names)

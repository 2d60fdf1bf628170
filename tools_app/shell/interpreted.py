"""Deletions and overwritten files in one-line programs of other languages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

INTERPRETER = re.compile(r"(python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|R?script|tclsh|osascript|pwsh)[\d.]*")
_OF_FOLDERS = re.compile(
    r"\brmtree\b|\brimraf\b|\brm_rf?\b|(?P<words>\brm\s+-\w*[rR])|['\"](?:/bin/)?rm['\"]\s*,|\bremove_tree\b|\bremove_entry"
    r"|\bremovedirs\b|\b(?:remove|rm|rmdir)Sync\b|\bfs\.(?:promises\.)?rm(?:dir)?\b|\bDeno\.remove|\bRemove-Item\b"
)
_OF_FILES = re.compile(
    r"\bunlink(?:Sync)?\b(?!\s*/)|(?<![.\w])remove\s*\(|\bos\.remove\b|\bfile\.remove\b|\bFile\.delete\b"
    r"|\bfile delete\b|\btruncate(?:Sync)?\b|\bFileUtils\.rm\b"
)
# Calls that delete or empty one file, named literally.
_LITERAL = re.compile(r"\s*+\(?\s*+(['\"])([^-'\"$`{}\n][^'\"$`{}\n]{0,500})\1\s*+(?:\)|,|;|$)")
_PATH_METHOD = re.compile(r"\bPath\(\s*(['\"])([^'\"\n]{1,500})\1\s*\)\.$")
_OPENED = re.compile(r"\b(?:open|(?:Zip|Tar)?File)\s*\(\s*(['\"])([^'\"\n]{1,500})\1\s*,\s*(?:mode\s*=\s*)?['\"][wx]")
_OPENED_BY_PERL = re.compile(r"\bopen\b[^,;\n]{1,80},\s*['\"]\+?>['\"]\s*,\s*(['\"])([^'\"\n]{1,500})\1")
# Calls that write a file: of fs and Deno, pandas, NumPy, Pillow, matplotlib and others. Any existing file counts.
_WRITTEN = re.compile(
    r"\b(?:\w{0,30}[wW]rite\w{0,30}+|to_[a-z]{1,20}+|tofile|save\w{0,30}+|file_put_contents)\s*+\(\s*+"
    r"(['\"])([^'\"\n{}$`*?\[]{1,500})\1"
)
_RENAMED_PATH = re.compile(r"\.(?:rename|replace)\s*+\(\s*+(['\"])([^'\"\n]{1,500})\1\s*+\)")
_WRITTEN_PATH = re.compile(r"\bPath\(\s*(['\"])([^'\"\n]{1,500})\1\s*\)\.write_(?:text|bytes)\b")
_MOVED = re.compile(
    r"\b(?:rename(?:Sync)?|replace|move|copy\w*+)\s*+\(?\s*+(['\"])([^'\"\n]{1,500})\1\s*,\s*(['\"])([^'\"\n]{1,500})\3"
)
_RUNS_TEXT = re.compile(r"(?<![.\w])(?:exec|eval|compile)\b|\b(?:system|popen|Function|spawn|getattr|__import__)\b")
_DECODES = re.compile(
    r"b64|base64|fromhex|\bhex\b|\bdecode\b|\bchr\b|urlopen|\brequests\b|\bstdin\b|\batob\b|\bunpack\b|\bmarshal\b"
    r"|\bzlib\b|rot13|\[::-1\]|\\x[0-9a-f]{2}|'\s*\+\s*'|\"\s*\+\s*\"|\bLWP\b|\bfetch\("
)
_RUNS_COMMANDS = re.compile(
    r"system|popen|subprocess|exec|eval|spawn|\bcall\b|\brun\b|passthru|proc_open|getattr|__import__|\bsh\b|\bqx\b|[`$|%&]",
    re.IGNORECASE,
)
_CONTEXT = 520  # characters before a method that name its file


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """A deletion in code. Without `paths`, the code decides on them."""

    paths: list[str]
    is_folder: bool


def deletions(program: str, *, runs_commands: bool = True) -> Iterator[Deletion]:
    """Yield the deletions in the code of a program. Without `runs_commands`, words such as rm -rf are only text."""
    for pattern, is_folder in ((_OF_FOLDERS, True), (_OF_FILES, False)):
        for call in pattern.finditer(program):
            if is_folder and call["words"] and not runs_commands:
                continue
            method = _PATH_METHOD.search(program, max(0, call.start() - _CONTEXT), call.start())
            literal = method or _LITERAL.match(program, call.end())
            yield Deletion(paths=[literal[2]] if literal else [], is_folder=is_folder)


def runs_commands(program: str) -> bool:
    """Return whether code may run other programs or other code."""
    return bool(_RUNS_COMMANDS.search(program))


def overwritten(program: str) -> list[str]:
    """Return the files, named literally, that the code of a program overwrites."""
    patterns = (_OPENED, _OPENED_BY_PERL, _WRITTEN, _WRITTEN_PATH, _RENAMED_PATH)
    written = [match[2] for pattern in patterns for match in pattern.finditer(program)]
    return written + [target for _, target in moved(program)]


def moved(program: str) -> list[tuple[str, str]]:
    """Return the files, named literally, that the code of a program moves or copies, each with its new path."""
    return [(match[2], match[4]) for match in _MOVED.finditer(program)]


def runs_decoded_text(program: str) -> bool:
    """Return whether code runs text that it puts together, decodes or downloads."""
    return bool(_RUNS_TEXT.search(program) and _DECODES.search(program))

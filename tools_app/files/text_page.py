"""A page of a text file, with line numbers. It is read as a stream: a large file costs no more memory than a page."""

import mimetypes
from collections.abc import Iterator
from itertools import chain, islice
from typing import BinaryIO

from tools_app.errors import ToolError

LINES = 2000
WIDTH = 2000  # characters of a line
_CHUNK = 4 * WIDTH  # bytes; a character has at most four
_HEAD = 8192  # bytes that tell text from binary
_COUNTED = 100_000  # lines counted behind the page, so that a huge file does not keep us


def page(file: BinaryIO, offset: int, limit: int, room: int) -> str:
    """At most `limit` lines from line `offset` (1-based) on, as `cat -n` writes them, in `room` bytes, but one in any
    case. Raises ToolError beyond the end.
    """
    lines = _lines(file)
    skipped = sum(1 for _ in islice(lines, offset - 1))
    shown: list[str] = []
    for line in islice(lines, limit):
        numbered = f"{offset + len(shown):6}\t{line}"
        room -= len(numbered.encode()) + 1
        if room < 0 and shown:
            lines = chain([line], lines)
            break
        shown.append(numbered)
    if not shown and offset > 1:
        raise ToolError(f"There is no line {offset}: the file has {skipped}.")
    if more := sum(1 for _ in islice(lines, _COUNTED)):
        several = f"{more}+" if more == _COUNTED else str(more)
        shown.append(f"({several} more lines; go on with offset {offset + len(shown)})")
    return "\n".join(shown) or "(empty file)"


def _lines(file: BinaryIO) -> Iterator[str]:
    while chunk := file.readline(_CHUNK):
        end, rest = chunk, 0
        while not end.endswith(b"\n") and (end := file.readline(_CHUNK)):
            rest += len(end)
        yield _shown(chunk, rest)


def _shown(chunk: bytes, rest: int) -> str:
    line = readable(chunk).removesuffix("\n").removesuffix("\r")
    if len(line) <= WIDTH and not rest:
        return line
    return f"{line[:WIDTH]}… (line cut: {len(chunk) + rest} bytes)"


def readable(data: bytes) -> str:
    """As text, whatever it is; NUL, which databases refuse, becomes a replacement character, too."""
    return data.decode(errors="replace").replace("\0", "\ufffd")


def is_binary(file: BinaryIO) -> bool:
    """Judged by its beginning: a NUL, or more than a tenth that is no UTF-8. The file is rewound."""
    head = file.read(_HEAD)
    file.seek(0)
    return holds_binary(head)


def holds_binary(data: bytes) -> bool:
    """The same of bytes that are there already."""
    head = data[:_HEAD]
    return b"\0" in head or head.decode(errors="replace").count("\ufffd") > len(head) / 10


def media_type(path: str) -> str:
    return mimetypes.guess_type(path)[0] or "application/octet-stream"

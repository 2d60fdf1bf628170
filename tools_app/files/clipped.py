"""Markers for output whose middle was dropped: the line in its place, and notes on the loss."""

import re

from tools_app.files.paths import MOUNT, RESULTS

SUFFIX = ".clipped.txt"  # suffix of a clipped result that is stored as a file
_LOSS_PATTERN = re.compile(r"(?<![\d,])[\d,]++ of [\d,]++ (?:lines \([^)\n]{1,60}\)|bytes) of output were not kept")


def gap_line(*, lines: int, all_lines: int, size: int, whole_size: int) -> str:
    """Return the line that replaces `size` bytes in `lines` complete lines. Zero lines means a gap within a line."""
    lost = f"{size:,} of {whole_size:,} bytes"
    amount = f"{lines:,} of {all_lines:,} lines ({lost})" if lines else lost
    return f"[… {amount} of output were not kept …]"


def loss_note(text: str) -> str:
    """Return the note of missing output, such as “9 of 10 lines (…) of output were not kept”, or ''."""
    return "; ".join(dict.fromkeys(_LOSS_PATTERN.findall(text)))


def is_clipped(path: str) -> bool:
    """Return whether `path` names a stored result whose middle is missing."""
    names = path.removeprefix(f"/{MOUNT}/").removeprefix("./")
    return names.startswith(f"{RESULTS}/") and names.endswith(SUFFIX)

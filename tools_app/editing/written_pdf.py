"""A PDF that the tool `file` makes of Markdown or HTML."""

import asyncio
import base64
import re
from io import BytesIO
from pathlib import PurePosixPath
from urllib.parse import unquote

from tools_app.child_process.parent import NoAnswer, answer_of
from tools_app.contract import ToolResult
from tools_app.errors import ToolError
from tools_app.files import Workspace, in_units, picture_type

_SOURCE = re.compile(
    r"!\[[^\[\]\n]{0,300}+\]\(<?([^)>\s]{1,300}+)|<img\s(?:[^<>]{0,300}?\s)?src=[\"']?([^\"'<>\s]{1,300}+)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*+:", re.IGNORECASE)
_MAX_TEXT = 1_000_000  # characters
_MAX_PICTURE = 10 * 1000**2
_MAX_PICTURES = 40 * 1000**2  # in total
_MAX_SHOWN = 20  # characters without a font


async def write_pdf(path: str, text: str, workspace: Workspace) -> ToolResult:
    """Write the PDF of a text. The result names its pages, missing pictures, and characters without a font."""
    if len(text) > _MAX_TEXT:
        raise ToolError(f"A PDF is made of at most {_MAX_TEXT:,} characters. Make several.")
    pictures, missing = await asyncio.to_thread(_pictures, path, text, workspace)
    try:
        answer = await answer_of("tools_app.documents.printed", {"text": text, "pictures": pictures})
    except NoAnswer as error:
        raise ToolError("No PDF could be made of this text: it is too long, or its pictures are too large.") from error
    data = base64.b64decode(answer["data"])
    exists = await asyncio.to_thread(workspace.is_file, path)
    await asyncio.to_thread(workspace.write_bytes, path, data)
    pages = answer["pages"]
    lines = [f"{'Replaced' if exists else 'Created'} {path}: {pages} page{'s' * (pages != 1)}, {in_units(len(data))}."]
    if missing := [*missing, *answer["unusable"]]:
        lines.append(
            f"Pictures that are not shown, as there is no such picture in the workspace: {', '.join(missing)}."
        )
    if answer["missing"]:
        lines.append(f"No font here has these characters, which stay blank: {answer['missing'][:_MAX_SHOWN]}")
    return ToolResult(content="\n".join(lines))


def _pictures(path: str, text: str, workspace: Workspace) -> tuple[dict[str, str], list[str]]:
    """Return the named pictures in base64, and the names of missing ones. A path is relative to the root or the PDF."""
    pictures, missing, total = dict[str, str](), list[str](), 0
    for match in _SOURCE.finditer(text):
        source = match[1] or match[2]
        if source in pictures or source in missing:
            continue
        name = unquote(source)
        choices = [name, str(PurePosixPath(path).parent / name)]
        file = None if _SCHEME.match(name) else next((it for it in choices if workspace.is_file(it)), None)
        data = workspace.read_bytes(file, _MAX_PICTURE) if file else b""
        if not picture_type(BytesIO(data)):
            missing.append(source)
            continue
        total += len(data)
        if total > _MAX_PICTURES:
            raise ToolError(f"The pictures are larger than {in_units(_MAX_PICTURES)} in total. Make them smaller.")
        pictures[source] = base64.b64encode(data).decode()
    return pictures, missing

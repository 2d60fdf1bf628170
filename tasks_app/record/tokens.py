"""Estimates of tokens before a provider has counted them, and cutting of results to a token budget."""

import re
from contextlib import suppress

from llm_app.types import ToolCall
from tasks_app.models import ContextEntry
from tools_app import paging
from tools_app.contract import ToolResult
from tools_app.errors import ToolError
from tools_app.files import RESULTS, Workspace, clipped

BYTES = 3  # UTF-8 bytes per token
PICTURE = 1_600  # tokens of the largest picture that we send, at providers that publish it
FRAME = 4  # tokens per message besides its text
_CLOSING_TAG = re.compile(r"(?<=\n)</\w{1,40}>\Z")
_HINT = 400  # bytes reserved for the hint where the rest of a result is


def estimate(text: str) -> int:
    """Return UTF-8 bytes / 3: too high for English prose, about right for code and non-Latin scripts."""
    return len(text.encode(errors="replace")) // BYTES


def entry_tokens(entry: ContextEntry) -> int:
    """Return the estimated tokens of an entry's message: text, call, thinking and pictures."""
    texts = (entry.content, entry.tool_call, entry.thought)
    return FRAME + sum(map(estimate, texts)) + PICTURE * len(entry.pictures)


def view_tokens(view: str) -> int:
    """Return the estimated tokens of a message that has only this text."""
    return FRAME + estimate(view)


def within_budget(result: ToolResult, content: str, workspace: Workspace, call: ToolCall, budget: int) -> str:
    """Return the redacted `content` of `result`, cut to `budget` tokens as the result asks.

    A result that is already a page of the tool is cut only above twice the budget.
    """
    if estimate(content) <= budget * (2 if result.cut == "none" else 1):
        return content or "(no output)"
    room = max(budget * BYTES - _HINT, budget * BYTES // 2)
    return (
        _ends(content, room, workspace, call) if result.cut == "middle" else _beginning(content, room, workspace, call)
    )


def _beginning(content: str, room: int, workspace: Workspace, call: ToolCall) -> str:
    """Return the first lines and a hint how to read on. A closing tag stays, so that outside content remains
    enclosed.
    """
    end = paging.end_of_page(content, 0, room)
    closing = _CLOSING_TAG.findall(content, end)
    rest = f"[… {_rest(content, end, None, workspace, call)}]"
    return "\n".join([content[:end].removesuffix("\n"), *closing, rest])


def _ends(content: str, room: int, workspace: Workspace, call: ToolCall) -> str:
    """Return the first two thirds of the room, whole lines of the end, and the tool's own last line."""
    output, _, own = content.rpartition("\n")
    if paging.size(own) > _HINT:
        output, own = content, ""
    room -= paging.size(own)
    end = paging.end_of_page(output, 0, room * 2 // 3)
    tail = max(end, _last_lines(output, room // 3))
    limit = output.count("\n", end, tail) + (output[tail - 1] != "\n")
    rest = f"[… {_rest(output, end, limit, workspace, call)} …]"
    return "\n".join(filter(None, [output[:end].removesuffix("\n"), rest, output[tail:], own]))


def _last_lines(text: str, room: int) -> int:
    """Return the offset of the last whole lines within `room` bytes, or the length of the text if no line fits."""
    tail = text.encode(errors="replace")[-room:].decode(errors="ignore")
    return text.find("\n", len(text) - len(tail) - 1) + 1 or len(text)


def _rest(whole: str, end: int, limit: int | None, workspace: Workspace, call: ToolCall) -> str:
    """Return a sentence with the hidden lines and the call that reads them. `limit` is their number; None means
    all.
    """
    lines, first = whole.count("\n") + 1, whole.count("\n", 0, end) + 1
    last = lines if limit is None else first + limit - 1
    loss = clipped.loss(whole)
    hidden = f"lines {first:,} to {last:,} of {f'the {lines:,} kept' if loss else f'{lines:,}'} are not shown"
    gone = f" {loss}: to have all, redirect it to a file." if loss else ""
    try:
        path = _kept(whole.encode(errors="replace"), workspace, call, clipped.SUFFIX if loss else ".txt")
    except ToolError as error:
        return f"{hidden}, and could not be kept: {error}{gone}"
    skip = end - whole.rfind("\n", 0, end) - 1
    more = {"path": path, "offset": first, "skip": skip or None, "limit": limit}
    return f"{hidden}. They are in {path}: {paging.next_call('file', action='read', **more)}{gone and f'.{gone}'}"


def _kept(data: bytes, workspace: Workspace, call: ToolCall, suffix: str) -> str:
    """Return the path of a file with the full result. Reuse a command's existing file. Raises ToolError."""
    with suppress(ToolError):
        for entry in workspace.entries(RESULTS):
            path = f"{RESULTS}/{entry.name}"
            if entry.kind == "file" and entry.size == len(data) and workspace.read_bytes(path) == data:
                return path
    path = f"{RESULTS}/{call.id}{suffix}"
    workspace.write_bytes(path, data)
    return path

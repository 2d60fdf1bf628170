"""Estimates of tokens before a provider has counted them, and cutting of results to a token budget."""

import re
from contextlib import suppress

from llm_app.types import TOKENS_PER_PICTURE, ToolCall
from tasks_app.models import ContextEntry
from tasks_app.record.serialize import SENT_OF_CUT, sent_text
from tools_app import paging
from tools_app.contract import ToolResult
from tools_app.errors import ToolError
from tools_app.files import RESULTS, Workspace, clipped

BYTES_PER_TOKEN = 3  # UTF-8 bytes per token
MESSAGE_TOKENS = 4  # tokens per message besides its text
_CLOSING_TAG = re.compile(r"(?<=\n)</\w{1,40}>\Z")
_NOTE_BYTES = 800  # bytes reserved for the approver's name and hooks' remarks
_HINT_BYTES = 400  # bytes reserved for the hint where the rest of a result is


def estimate(text: str) -> int:
    """Return UTF-8 bytes / 3: too high for English prose, about right for code and non-Latin scripts."""
    return len(text.encode(errors="replace")) // BYTES_PER_TOKEN


def entry_tokens(entry: ContextEntry) -> int:
    """Return the estimated tokens of an entry's message: text, call, thinking and pictures."""
    call = entry.tool_call[:SENT_OF_CUT] if entry.is_cut else entry.tool_call
    texts = (sent_text(entry), call, entry.thought)
    return MESSAGE_TOKENS + sum(map(estimate, texts)) + TOKENS_PER_PICTURE * len(entry.pictures)


def view_tokens(view: str) -> int:
    """Return the estimated tokens of a message that has only this text."""
    return MESSAGE_TOKENS + estimate(view)


def page_bytes(budget: int) -> int:
    """Return the bytes of a tool's page in a result of `budget` tokens. The rest is for the engine's remarks."""
    return max(budget * BYTES_PER_TOKEN - _NOTE_BYTES, budget * BYTES_PER_TOKEN // 2)


def within_budget(result: ToolResult, content: str, workspace: Workspace, call: ToolCall, budget: int) -> str:
    """Return the redacted `content` of `result`, cut to `budget` tokens as the result asks.

    A result that is already a page of the tool is cut only above twice the budget.
    """
    if estimate(content) <= budget * (2 if result.cut == "none" else 1):
        return content or "(no output)"
    max_bytes = max(budget * BYTES_PER_TOKEN - _HINT_BYTES, budget * BYTES_PER_TOKEN // 2)
    if result.cut == "middle":
        return _first_and_last_lines(content, max_bytes, workspace, call)
    return _first_lines(content, max_bytes, workspace, call)


def _first_lines(content: str, max_bytes: int, workspace: Workspace, call: ToolCall) -> str:
    """Return the first lines and a hint how to read on. A closing tag stays, so that outside content remains
    enclosed.
    """
    end = paging.end_of_page(content, 0, max_bytes)
    closing = _CLOSING_TAG.findall(content, end)
    hint = f"[… {_hint(content, end, None, workspace, call)}]"
    return "\n".join([content[:end].removesuffix("\n"), *closing, hint])


def _first_and_last_lines(content: str, max_bytes: int, workspace: Workspace, call: ToolCall) -> str:
    """Return the first two thirds of the room, whole lines of the end, and the tool's own last line."""
    output, _, last_line = content.rpartition("\n")
    if paging.size(last_line) > _HINT_BYTES:
        output, last_line = content, ""
    max_bytes -= paging.size(last_line)
    end = paging.end_of_page(output, 0, max_bytes * 2 // 3)
    tail = max(end, _last_lines(output, max_bytes // 3))
    limit = output.count("\n", end, tail) + (output[tail - 1] != "\n")
    hint = f"[… {_hint(output, end, limit, workspace, call)} …]"
    return "\n".join(filter(None, [output[:end].removesuffix("\n"), hint, output[tail:], last_line]))


def _last_lines(text: str, max_bytes: int) -> int:
    """Return the offset of the last whole lines within `max_bytes` bytes, or the length of the text if no line fits."""
    tail = text.encode(errors="replace")[-max_bytes:].decode(errors="ignore")
    return text.find("\n", len(text) - len(tail) - 1) + 1 or len(text)


def _hint(whole: str, end: int, limit: int | None, workspace: Workspace, call: ToolCall) -> str:
    """Return a sentence with the hidden lines and the call that reads them. `limit` is their number; None means
    all.
    """
    line_count, first = whole.count("\n") + 1, whole.count("\n", 0, end) + 1
    last = line_count if limit is None else first + limit - 1
    loss = clipped.loss_note(whole)
    hidden = f"lines {first:,} to {last:,} of {f'the {line_count:,} kept' if loss else f'{line_count:,}'} are not shown"
    loss_hint = f" {loss}: to have all, redirect it to a file." if loss else ""
    try:
        path = _result_file(whole.encode(errors="replace"), workspace, call, clipped.SUFFIX if loss else ".txt")
    except ToolError as error:
        return f"{hidden}, and could not be kept: {error}{loss_hint}"
    skip = end - whole.rfind("\n", 0, end) - 1
    arguments = {"path": path, "offset": first, "skip": skip or None, "limit": limit}
    next_call = paging.next_call("file", action="read", **arguments)
    return f"{hidden}. They are in {path}: {next_call}{loss_hint and f'.{loss_hint}'}"


def _result_file(data: bytes, workspace: Workspace, call: ToolCall, suffix: str) -> str:
    """Return the path of a file with the full result. Reuse a command's existing file. Raises ToolError."""
    with suppress(ToolError):
        for entry in workspace.entries(RESULTS):
            path = f"{RESULTS}/{entry.name}"
            if entry.kind == "file" and entry.size == len(data) and workspace.read_bytes(path) == data:
                return path
    path = f"{RESULTS}/{call.id}{suffix}"
    workspace.write_bytes(path, data)
    return path

"""A result too long for the context: the whole goes to a file, the entry keeps head, tail and the file's name."""

from llm_app.types import ToolCall
from tasks_app.record.tokens import BYTES, estimate
from tools_app.errors import ToolError
from tools_app.files.paths import RESULTS
from tools_app.files.workspace import Workspace


def within_budget(content: str, workspace: Workspace, call: ToolCall, budget: int) -> str:
    """`content`, or what of it fits into `budget` tokens: two thirds head, one third tail."""
    if estimate(content) <= budget:
        return content or "(no output)"
    data, room = content.encode(errors="replace"), budget * BYTES
    head, tail = data[: room * 2 // 3].decode(errors="ignore"), data[-(room // 3) :].decode(errors="ignore")
    lines = content.count("\n") + 1
    return f"{head}\n[… cut: {lines:,} lines in all; {_kept(data, workspace, call)} …]\n{tail}"


def _kept(data: bytes, workspace: Workspace, call: ToolCall) -> str:
    path = f"{RESULTS}/{call.id}.txt"
    try:
        workspace.write_bytes(path, data)
    except ToolError as error:
        return f"the rest could not be kept: {error}"
    return f"the whole result is in the file {path}"

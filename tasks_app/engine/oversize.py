"""A result too long for the context: the whole goes to a file, the entry keeps head, tail and the file's name."""

from llm_app.types import ToolCall
from tasks_app.engine.tokens import estimate
from tools_app.workspace import Workspace

BUDGET = 2_500  # tokens
FOLDER = ".results"


def within_budget(content: str, workspace: Workspace, call: ToolCall, budget: int = BUDGET) -> str:
    """`content`, or what of it fits into `budget` tokens: two thirds head, one third tail."""
    size = estimate(content)
    if size <= budget:
        return content or "(no output)"
    path = f"{FOLDER}/{call.id}.txt"
    workspace.write_bytes(path, content.encode(errors="replace"))
    room = len(content) * budget // size
    head, tail = content[: room * 2 // 3], content[len(content) - room // 3 :]
    lines = content.count("\n") + 1
    return f"{head}\n[… cut: {lines} lines in all; the whole result is in the file {path} …]\n{tail}"

"""How many tokens a text costs, before a provider has said so; and how a result is cut to a budget of them."""

from llm_app.types import ToolCall
from tasks_app.models import ContextEntry
from tools_app.errors import ToolError
from tools_app.files import RESULTS, Workspace

BYTES = 3  # of a token, in UTF-8
PICTURE = 1_600  # tokens: what the largest that we send costs, at those who say so
FRAME = 4  # tokens of a message beside its text


def estimate(text: str) -> int:
    """UTF-8 bytes / 3: high for prose, about right for code and for scripts other than Latin."""
    return len(text.encode(errors="replace")) // BYTES


def entry_tokens(entry: ContextEntry) -> int:
    """Of the message that an entry is: its words, its call, its thinking, its pictures."""
    texts = (entry.content, entry.tool_call, entry.thought)
    return FRAME + sum(map(estimate, texts)) + PICTURE * len(entry.pictures)


def view_tokens(view: str) -> int:
    """Of a message that is only these words."""
    return FRAME + estimate(view)


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

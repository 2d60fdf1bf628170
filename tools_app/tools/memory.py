"""The tool `memory`, for notes that outlast the session. The agent proposes them, the person sees and can
delete them.
"""

from typing import Literal

from pydantic import Field

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool
from tools_app.contract.effects import DeleteNote, SaveNote
from tools_app.notes import rendered


class MemoryArguments(Arguments):
    action: Literal["remember", "forget", "search"] = Field(description="What to do with `text`.")
    text: str = Field(
        min_length=1,
        max_length=1000,
        description="The fact, in words that need no conversation; to forget, the note's number or text.",
    )


@tool(
    name="memory",
    description="""Notes on the person and their work that last over sessions. Search them before you say that you
    do not know. Remember lasting facts, preferences and decisions, no secrets. Forget what is no
    longer true.""",
    arguments=MemoryArguments,
    danger=Danger.MODERATE,
    target=Target.ENGINE,
    compact_template="memory {action}: {text}",
    activity={
        "remember": "noted something",
        "forget": "forgot something",
        "search": "searched the memory",
    },
)
async def memory(arguments: MemoryArguments, context: ToolContext) -> ToolResult:
    if arguments.action == "search":
        notes = await context.memory.search(arguments.text)
        return ToolResult(content=rendered(notes) if notes else "No note matches. Try other words.")
    if arguments.action == "forget":
        note = await context.memory.own_note(arguments.text)
        return ToolResult(content=f"Forgotten: {note.text}", effects=[DeleteNote(number=note.number)])
    if await context.memory.is_new(arguments.text):
        content = "Remembered. The person sees it and may delete it."
        return ToolResult(content=content, effects=[SaveNote(text=arguments.text)], metadata={"remembered": True})
    return ToolResult(content="This is already remembered.")

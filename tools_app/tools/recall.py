"""Gives back an earlier result whole, after the conversation kept only a line of it."""

from pydantic import Field

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool
from tools_app.errors import ToolError


class RecallArguments(Arguments):
    number: int = Field(ge=1, description="The number n of the line, of the step or of the message.")
    offset: int = Field(0, ge=0, description="The character to begin with, where the last answer named one to go on.")


@tool(
    name="recall",
    description="""Gives back the whole result of an earlier step, or the whole words of an earlier message, by its
    number in the outline of the conversation. It shows what was then: for a file as it is now, read the file.""",
    arguments=RecallArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="recall {number}[ from {offset}]",
    visible=lambda visibility: visibility.has_cut,
)
async def recall(arguments: RecallArguments, context: ToolContext) -> ToolResult:
    stored = await context.stored_result(arguments.number)
    begin, size = arguments.offset, len(stored)
    if begin and begin >= size:
        raise ToolError(f"It has {size:,} characters only.")
    end = begin + _characters(stored[begin : begin + context.page_bytes], context.page_bytes)
    if begin == 0 and end == size:
        return ToolResult(content=stored)
    more = f" Go on with offset {end}." if end < size else ""
    return ToolResult(content=f"{stored[begin:end]}\n[characters {begin:,} to {end:,} of {size:,}.{more}]")


def _characters(text: str, page: int) -> int:
    """How many of them fit into a page of so many bytes."""
    return len(text.encode(errors="replace")[:page].decode(errors="ignore"))

"""The tool `recall`, which returns the full result of an earlier call that the conversation has shortened to a line."""

from pydantic import Field

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool
from tools_app.errors import ToolError
from tools_app.files import clipped
from tools_app.paging import end_of_page, next_call, size

_FRAME_BYTES = 120  # bytes of the texts around a page
_WHOLE_BYTES = 2000  # bytes over a page for its call, and for the notes that followed it, so that it comes whole


class RecallArguments(Arguments):
    number: int = Field(ge=1, description="The number n of its line.")
    offset: int = Field(0, ge=0, description="The first character.")


@tool(
    name="recall",
    description="Gives back a step or message of the outline in full, as it was then: read a file for how it is now.",
    arguments=RecallArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="recall {number}[ from {offset}]",
    activity={"": "looked back at result {number}|looked back at # results"},
)
async def recall(arguments: RecallArguments, context: ToolContext) -> ToolResult:
    stored = await context.stored_result(arguments.number)
    begin, total = arguments.offset, len(stored)
    if begin and begin >= total:
        raise ToolError(f"It has {total:,} characters only.")
    end = total
    if size(stored[begin:]) > context.page_bytes + min(_WHOLE_BYTES, context.page_bytes // 4):
        end = end_of_page(stored, begin, context.page_bytes - _FRAME_BYTES)
    if begin == 0 and end == total:
        return ToolResult(content=stored, cut="none", summary=f"{total:,} characters")
    more = (
        f" Next page: {next_call('recall', number=arguments.number, offset=end)}" if end < total else " It ends here."
    )
    loss = f" {loss}." if (loss := clipped.loss_note(stored)) else ""
    position = f"characters {begin:,} to {end:,} of {total:,}"
    content = f"{stored[begin:end]}\n[{position}.{loss}{more}]"
    return ToolResult(content=content, cut="none", summary=position)

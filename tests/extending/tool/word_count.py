"""A tool that counts the words of a file."""

import asyncio

from pydantic import Field

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool


class WordCountArguments(Arguments):
    path: str = Field(min_length=1, description="A text file of the workspace.")


@tool(
    name="word_count",
    description="Counts the words of a text file of the workspace.",
    arguments=WordCountArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="word_count {path}",
)
async def word_count(arguments: WordCountArguments, context: ToolContext) -> ToolResult:
    data = await asyncio.to_thread(context.workspace.read_bytes, arguments.path)
    return ToolResult(content=f"{arguments.path} has {len(data.split())} words.")

"""Finds files by name, and lines in files."""

import asyncio
from typing import Literal

from pydantic import Field, model_validator

from tools_app.contract.base import Arguments, Danger, Target, ToolContext, ToolResult
from tools_app.contract.registry import tool
from tools_app.files.paths import parts
from tools_app.matching import child
from tools_app.matching.query import Answer, Query


class MatchArguments(Arguments):
    action: Literal["glob", "grep"] = Field(description="glob: find files by name. grep: find lines in files.")
    pattern: str = Field(
        min_length=1,
        max_length=2000,
        description="For glob: such as *.py (at any depth) or src/**/*.{ts,tsx} (below path). "
        "For grep: a regular expression of Python's, matched line by line.",
    )
    path: str | None = Field(None, description="The folder to search, or for grep a single file; default: everything.")
    glob: str | None = Field(None, description="For grep: search only files whose name matches, such as *.py.")
    ignore_case: bool = Field(False, description="Whether upper and lower case are the same.")
    context: int | None = Field(None, ge=0, le=10, description="For grep: lines shown around each match.")

    @model_validator(mode="after")
    def _belong_together(self) -> "MatchArguments":
        if self.action == "glob" and (self.glob or self.context):
            raise ValueError("glob and context belong to action grep; action glob has its pattern in pattern")
        return self


@tool(
    name="match",
    description="""Searches the workspace: glob finds files by name, newest first; grep finds lines by a regular
    expression. What .gitignore files leave out, and .results/, is searched only where `path` names it. At most 200
    matches are shown.""",
    arguments=MatchArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="match {action} {pattern}",
)
async def match(arguments: MatchArguments, context: ToolContext) -> ToolResult:
    root = await asyncio.to_thread(context.workspace.make_root)
    query = Query(
        root=str(root),
        names=parts(arguments.path or "."),
        owner=context.workspace.owner,
        action=arguments.action,
        pattern=arguments.pattern,
        glob=arguments.glob or "",
        ignore_case=arguments.ignore_case,
        context=arguments.context or 0,
    )
    return ToolResult(content=_content(await child.search(query, context.started)))


def _content(answer: Answer) -> str:
    lines = list(answer.lines) or ["No match."]
    if answer.total > answer.shown:
        lines.append(f"({answer.total - answer.shown} more matches are not shown; narrow the pattern or the path)")
    if answer.unsearched:
        lines.append(f"(not searched: {'; '.join(answer.unsearched)})")
    if not answer.complete:
        lines.append("(the search took too long and was ended early; there may be more: choose a smaller folder)")
    return "\n".join(lines)

"""The tool `message`, with which the agent informs and asks its person, and delivers the result."""

import re
from collections.abc import Coroutine
from typing import Any, Literal
from urllib.parse import unquote

from pydantic import Field, model_validator

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, ToolVisibility, WaitForReply, tool
from tools_app.contract.effects import Finish, InvalidData
from tools_app.errors import InvalidArguments
from tools_app.json_schema.external import fitted_data, with_data

_CODE = re.compile(r"^ {0,3}```.*?^ {0,3}```|`[^`\n]{1,300}+`", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[[^\[\]\n]{0,300}+\]\(<?([^)<>?#\s]{1,300}+)")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*+:|/", re.IGNORECASE)


class VisibleArguments(Arguments):
    type: Literal["info", "ask", "result"] = Field(
        description="result: the complete answer, once; ends the task. ask: wait for an answer, only when you cannot "
        "go on without it. info: what they need to read before the end; go on."
    )
    text: str = Field(min_length=1, description="In Markdown.")
    options: list[str] | None = Field(None, description="For ask: answers to choose from.")
    attachments: list[str] | None = Field(None, description="Files of the workspace.")
    suggestions: list[str] | None = Field(
        None, description="For result: up to three next steps, in the person's words."
    )

    @model_validator(mode="after")
    def _belong_together(self) -> "VisibleArguments":
        if self.options and self.type != "ask":
            raise ValueError("options belong to type ask")
        if self.suggestions and self.type != "result":
            raise ValueError("suggestions belong to type result")
        return self


class MessageArguments(VisibleArguments):
    data: Any = None  # models see it only with a schema


def _with_data(parameters: dict[str, Any], visibility: ToolVisibility) -> dict[str, Any]:
    return with_data(parameters, visibility.output_schema) if visibility.output_schema else parameters


@tool(
    name="message",
    description="Speaks to the person.",
    arguments=MessageArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="message ({type}): {text}",
    shown=lambda visibility: VisibleArguments,
    extended=_with_data,
)
def message(arguments: MessageArguments, context: ToolContext) -> ToolResult | Coroutine[Any, Any, ToolResult]:
    named = dict.fromkeys([*(arguments.attachments or ()), *_embedded_pictures(arguments.text)])
    missing = [path for path in named if not context.workspace.is_file(path)]
    if missing:
        return ToolResult(content=f"Not sent: no such file in the workspace: {', '.join(missing)}.", status="failed")
    if shared := [path for path in arguments.attachments or () if context.workspace.is_in_library(path)]:
        content = f"Not sent: copy these files of the library into the workspace first: {', '.join(shared)}."
        return ToolResult(content=content, status="failed")
    if arguments.type == "ask":
        return ToolResult(content="", effects=[WaitForReply(options=arguments.options or ())])
    if arguments.type == "result":
        return _result(arguments, context)
    return ToolResult(content="Shown to the person. Go on with the task.")


def _embedded_pictures(text: str) -> list[str]:
    """Return the paths of pictures that the text shows from the workspace. Code shows none."""
    addresses = _PICTURE.findall(_CODE.sub("", text))
    return [unquote(address).removeprefix("./") for address in addresses if not _ELSEWHERE.match(address)]


async def _result(arguments: MessageArguments, context: ToolContext) -> ToolResult:
    if arguments.data is not None and not context.output_schema:
        return ToolResult(content="Not delivered: nobody asked for data. Say it in the text.", status="failed")
    try:
        data = await fitted_data(arguments.data, context.output_schema) if context.output_schema else None
    except InvalidArguments as error:
        content = f"Not delivered: data does not fit its schema. {error}. Send the whole result again, corrected."
        return ToolResult(content=content, status="failed", effects=[InvalidData()])
    finish = Finish(
        text=arguments.text,
        data=data,
        attachments=arguments.attachments or (),
        suggestions=arguments.suggestions or (),
    )
    return ToolResult(content="Delivered.", effects=[finish])

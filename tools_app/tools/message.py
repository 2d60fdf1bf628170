"""How the agent speaks to its person: it informs, asks, or hands over the result."""

from typing import Literal

from pydantic import Field, model_validator

from tools_app.base import Arguments, Danger, ToolContext, ToolResult
from tools_app.effects import Finish, WaitForReply
from tools_app.registry import tool


class MessageArguments(Arguments):
    type: Literal["info", "ask", "result"] = Field(
        description="info: say something, go on. ask: wait for the person's answer. result: the final answer."
    )
    text: str = Field(min_length=1, description="What the person reads, in Markdown.")
    options: list[str] | None = Field(None, description="For ask: answers to choose from.")
    attachments: list[str] | None = Field(
        None, description="Paths of files in the workspace that belong to the message."
    )
    suggestions: list[str] | None = Field(None, description="For result: up to three sensible next steps.")

    @model_validator(mode="after")
    def _belong_together(self) -> "MessageArguments":
        if self.options and self.type != "ask":
            raise ValueError("options belong to type ask")
        if self.suggestions and self.type != "result":
            raise ValueError("suggestions belong to type result")
        return self


@tool(
    name="message",
    description="""Speaks to the person. It is the only way to reach them: text outside of this call is not shown.
    Use info sparingly for progress that matters, ask only when you cannot go on without an answer, and result once,
    at the end, with the complete answer.""",
    arguments=MessageArguments,
    danger=Danger.SAFE,
    compact_template="message ({type}): {text}",
)
async def message(arguments: MessageArguments, context: ToolContext) -> ToolResult:
    missing = [path for path in arguments.attachments or () if not context.workspace.is_file(path)]
    if missing:
        return ToolResult(content=f"Not sent: no such file in the workspace: {', '.join(missing)}.", status="failed")
    if arguments.type == "ask":
        return ToolResult(content="", effects=[WaitForReply(options=arguments.options or ())])
    if arguments.type == "result":
        finish = Finish(
            text=arguments.text, attachments=arguments.attachments or (), suggestions=arguments.suggestions or ()
        )
        return ToolResult(content="Delivered.", effects=[finish])
    return ToolResult(content="Shown to the person. Go on with the task.")

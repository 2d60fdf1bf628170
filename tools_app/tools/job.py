"""The tool `job`, which reads, writes to and ends background commands of the shell."""

from typing import Literal

from pydantic import AliasChoices, Field, model_validator

from tools_app.contract import Arguments, Danger, Judgement, Target, ToolContext, ToolResult, tool
from tools_app.files import Workspace
from tools_app.sandbox import ports
from tools_app.shell.background_jobs import jobs
from tools_app.shell.secrets import with_values


class JobArguments(Arguments):
    action: Literal["read", "write", "kill"] = Field(
        description="read: what it printed since the last read. write: to its input. kill: end it."
    )
    id: int = Field(  # older conversations call it `number`
        ge=1, validation_alias=AliasChoices("id", "number"), description="Its number."
    )
    input: str | None = Field(None, description="For write: with its line end.")
    wait_s: float = Field(5, ge=0, le=60, description="Seconds to wait for output.")

    @model_validator(mode="after")
    def _belong_together(self) -> "JobArguments":
        if (self.action == "write") != (self.input is not None):
            raise ValueError("input is what write takes, and only write")
        return self


def judge(arguments: JobArguments, workspace: Workspace) -> Judgement:
    if arguments.action == "read":
        return Judgement(danger=Danger.SAFE)
    return Judgement(danger=Danger.MODERATE, rule="acts on a command that runs")


@tool(
    name="job",
    description="Reads, feeds and ends a command that shell runs in the background.",
    arguments=JobArguments,
    danger=Danger.SAFE,
    judge=judge,
    target=Target.SANDBOX,
    compact_template="job {action}[ {id}][ {number}][: {input}]",
    activity={
        "read": "looked at command {id}|looked at # commands",
        "write": "wrote to command {id}|wrote to # commands",
        "kill": "ended command {id}|ended # commands",
    },
    loop_exempt=True,  # repeated reads are the way to wait
    takes_secrets=True,
    accompanies="shell",
)
async def job(arguments: JobArguments, context: ToolContext) -> ToolResult:
    running = jobs.get(context.session, arguments.id)
    if arguments.action == "kill":
        await running.end()
    elif arguments.input is not None:
        running.write(with_values(arguments.input, context.secrets))
    context.so_far(lambda: f"[{running.state}; what it prints is there for the next read]")
    text = await running.new_output(0 if arguments.action == "kill" else arguments.wait_s)
    if running.has_ended:
        jobs.forget(context.session, arguments.id)
    content = "\n".join(filter(None, [text.rstrip("\n"), f"[{running.state}{running.left_behind}]"]))
    served = await ports.listening_ports(context.session) if jobs.jobs_of(context.session) else []
    return ToolResult(
        content=content,
        cut="middle",
        notes=[f"[{running.advice}]"] if running.advice else [],
        metadata={"ports": jobs.new_ports(context.session, served)},
    )

"""The tool `shell`, which runs commands in the sandbox, in the session's workspace."""

import asyncio
import shlex
import signal
import sys
import time
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import Any

from pydantic import Field, model_validator

from tools_app.contract import Arguments, Danger, Synonyms, Target, ToolContext, ToolResult, ToolVisibility, tool
from tools_app.contract.effects import JobStarted
from tools_app.sandbox import (
    BoundedOutput,
    CommandLimits,
    CommandOutcome,
    ProxyAccess,
    ShellCommand,
    ports,
    proxy_access,
)
from tools_app.shell.background_jobs import MAX_NAMED_PROCESSES, jobs
from tools_app.shell.danger import judgement, python_command
from tools_app.shell.endings import MAX_TIMEOUT_S, advice, kill_reason
from tools_app.shell.piped_command import CommandRequest
from tools_app.shell.python_process import check_code, command_line, pythons
from tools_app.shell.python_program import INTERRUPTED
from tools_app.shell.secrets import as_variables
from tools_app.shell.terminal import TerminalStream, render_terminal

DEFAULT_TIMEOUT_S = 120
LONGEST_JOB_S = 24 * 3600
_LEFT_RUNNING = (  # short, because only a bounded last line of a result is never cut
    "read it, write to it or kill it with the tool job; it ends once no job of the session was used for half an "
    "hour. What it serves is at localhost:PORT for commands, at http://sandbox:PORT/ for fetch_url, browser and links "
    "to the person, who must be told that such a link ends with it"
)
_LAST_WORDS = 100  # characters of the last lines of long output, for its summary


class ShellArguments(Arguments):
    command: str = Field(min_length=1, description="May have several lines.")
    timeout_s: int = Field(DEFAULT_TIMEOUT_S, ge=1, le=MAX_TIMEOUT_S, description="Seconds until killed.")
    background: bool = Field(
        False,
        description="Leave a server or long build running; the tool job reads, feeds and ends it.",
    )
    python: bool = Field(False, description="`command` is Python; its variables stay between calls.")

    @model_validator(mode="after")
    def _runs_in_the_foreground(self) -> "ShellArguments":
        if self.python and self.background:
            raise ValueError("python and background do not go together: run a file with python3 in the background")
        return self

    @property
    def script(self) -> str:
        """The call as a command, for its judgement."""
        return python_command(self.command) if self.python else self.command


def _fitted(values: dict[str, Any]) -> dict[str, Any]:
    """Return a command that is a list of words as one text, and a timeout in milliseconds in seconds."""
    command = values.get("command")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        values = {**values, "command": _joined(command)}
    milliseconds = values.get("timeout_ms")
    if type(milliseconds) is int and "timeout_s" not in values:
        rest = {name: value for name, value in values.items() if name != "timeout_ms"}
        values = {**rest, "timeout_s": min(max(1, milliseconds // 1000), MAX_TIMEOUT_S)}
    return values


def _joined(words: list[str]) -> str:
    """Return a list of words as a command: the script itself if the list calls a shell with it."""
    if len(words) == 3 and words[0] in ("bash", "sh", "/bin/bash", "/bin/sh") and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words) if len(words) > 1 else "".join(words)


def _with_approvals(schema: dict[str, Any], visibility: ToolVisibility) -> dict[str, Any]:
    """Return the schema with the commands that a person is asked about, while there are approvals."""
    command = schema["properties"]["command"]
    if not visibility.asks_for_commands:
        return schema
    text = f"{command['description']} Losing files or git work for good asks a person."
    return schema | {"properties": schema["properties"] | {"command": {**command, "description": text}}}


_SYNONYMS = Synonyms(
    arguments={
        **dict.fromkeys(("cmd", "commands", "script", "commandline", "bash", "code", "input"), "command"),
        **dict.fromkeys(("timeout", "timeoutsec", "timeoutseconds", "maxtime"), "timeout_s"),
        **dict.fromkeys(("runinbackground", "isbackground", "detach", "bg"), "background"),
    },
    fitted=_fitted,
)


@tool(
    name="shell",
    description="""Runs a command with bash in the workspace; returns its output and exit code. Nobody answers
    questions: pass -y. Each call starts anew: files stay, variables and the current folder do not.""",
    arguments=ShellArguments,
    danger=Danger.MODERATE,
    judge=lambda arguments, workspace: judgement(arguments.script, workspace),
    target=Target.SANDBOX,
    extended=_with_approvals,
    compact_template="shell[ (python: {python})]: {command}",
    activity={"": "ran {command}|ran # commands"},
    takes_secrets=True,
    shows_plan_step=True,
    synonyms=_SYNONYMS,
    other_names=(
        *("bash", "sh", "zsh", "terminal", "command", "exec", "execute", "run", "container.exec", "local_shell"),
        *(
            "run_command",
            "execute_command",
            "run_shell_command",
            "run_terminal_cmd",
            "run_in_terminal",
            "shell_command",
        ),
        *("execute_bash", "run_bash", "bash_command", "shell.exec", "exec_command", "terminal.run"),
    ),
)
async def shell(arguments: ShellArguments, context: ToolContext) -> ToolResult:
    command = replace(_command(arguments, context), mask=await asyncio.to_thread(context.mask))
    if arguments.python:
        return await _run_python(arguments, command, context)
    if arguments.background:
        return await _start(command, context)
    async with _proxy_access(context) as access:
        return await _run(replace(command, proxy_access=access), context)


def _proxy_access(context: ToolContext) -> AbstractAsyncContextManager[ProxyAccess | None]:
    """Return network access to the hosts that an administrator allows, or nothing if there are none."""
    return proxy_access.open_proxy_access(context.network) if context.network.only_hosts else nullcontext()


def _command(arguments: ShellArguments, context: ToolContext) -> ShellCommand:
    secrets = {} if arguments.python else context.secrets
    text, environment = as_variables(command_line() if arguments.python else arguments.command, secrets)
    seconds = LONGEST_JOB_S if arguments.background or arguments.python else arguments.timeout_s
    return ShellCommand(
        text=text,
        environment=environment,
        layers=context.layers(),
        session=context.session,
        workspace=context.workspace.prepare_for_commands(),
        views=context.workspace.views,
        library=context.workspace.library,
        home=context.workspace.make_home(),
        owner=context.workspace.owner,
        time_zone=context.time_zone,
        limits=CommandLimits(wall_s=seconds, workspace=context.workspace.most, streamed=sys.maxsize),
    )


def _request(command: ShellCommand, context: ToolContext) -> CommandRequest:
    return CommandRequest(
        sandbox=context.sandbox, command=command, proxy_access=_proxy_access(context), on_start=context.started
    )


async def _start(command: ShellCommand, context: ToolContext) -> ToolResult:
    """Start the command in the background, and return its output until it is silent for a moment or ends."""
    start = _request(command, context)
    if jobs.jobs_of(context.session):
        jobs.new_ports(
            context.session, await ports.listening_ports(context.session)
        )  # ports that are already in use are not its own
    job = jobs.start(context.session, start, context.last_job, context.job_ended)
    context.so_far(lambda: f"{job.take_output()}\n[the command was ended, too]")
    try:
        await job.settle()
        served = await ports.listening_ports(context.session)
    except asyncio.CancelledError:  # the model would never learn its number
        await job.end()
        jobs.forget(context.session, job.number)
        raise
    about: dict[str, Any] = {"job": job.number, "ports": jobs.new_ports(context.session, served)}
    if job.has_ended:
        jobs.forget(context.session, job.number)
        about["exit_code"] = job.exit_code
    state = f"{job.state}: it runs no more{job.left_behind}" if job.has_ended else f"{job.state}; {_LEFT_RUNNING}"
    return ToolResult(
        content="\n".join(filter(None, [job.take_output().rstrip("\n"), f"[{state}]"])),
        cut="middle",
        notes=[f"[{job.advice}]"] if job.advice else [],
        effects=[JobStarted(number=job.number)],
        metadata=about,
    )


async def _run(command: ShellCommand, context: ToolContext) -> ToolResult:
    began = time.monotonic()
    running, so_far = TerminalStream(), BoundedOutput(command.limits.output)
    context.so_far(lambda: render_terminal(so_far.text()))

    def heard(text: str) -> None:
        so_far.add(text.encode(errors="replace"))
        if not so_far.truncated:
            context.report(running.feed(text))

    outcome = await context.sandbox.run(command, on_output=heard, on_start=context.started)
    seconds = round(time.monotonic() - began, 3)
    output = render_terminal(outcome.output).rstrip("\n")
    ended = kill_reason(outcome, command.limits) or f"exit code {outcome.exit_code}, {seconds:.1f} s"
    ended += _left(outcome)
    hint = advice(command, outcome)
    return ToolResult(
        content="\n".join(filter(None, [output, f"[{ended}]"])),
        cut="middle",
        notes=[f"[{hint}]"] if hint else [],
        status="failed" if outcome.was_killed else "succeeded",
        summary=f"{ended}: …{_last_words(output)}" if len(output) > _LAST_WORDS else "",
        metadata={"exit_code": outcome.exit_code, "seconds": seconds, "truncated": outcome.truncated},
    )


async def _run_python(arguments: ShellArguments, command: ShellCommand, context: ToolContext) -> ToolResult:
    """Run code in the session's Python, and tell whether its variables are new, kept or lost."""
    check_code(arguments.command)
    stream, began = TerminalStream(), time.monotonic()
    async with pythons.acquire(context.session, _request(command, context), context.network) as (process, is_new):
        context.so_far(lambda: f"{render_terminal(process.output.text())}\n[Python was ended, too, with its variables]")

        def report(text: str) -> None:
            if not process.output.truncated:
                context.report(stream.feed(text))

        ending = await process.run(arguments.command, arguments.timeout_s, context.secrets, report)
    seconds = round(time.monotonic() - began, 3)
    taken = process.take_output()
    output = render_terminal(taken.text()).rstrip("\n")
    is_kept, outcome = bool(ending), process.outcome or CommandOutcome(exit_code=128 + signal.SIGKILL, output="")
    exit_code = int(ending) if ending.isdecimal() else outcome.exit_code
    if ending == INTERRUPTED:
        state = f"interrupted after {arguments.timeout_s} s"
    elif is_kept:
        state = f"exit code {exit_code}, {seconds:.1f} s"
    elif process.outcome is None:
        state = f"killed after {seconds:.0f} s"
    else:
        state = kill_reason(outcome, command.limits) or f"Python ended with exit code {exit_code}"
    if not is_kept:
        state += "; its variables are lost"
    elif ending == INTERRUPTED:
        state += "; its variables are kept"
    elif is_new:
        state += "; a new Python: no earlier variables"
    hint = advice(replace(command, text="python3"), replace(outcome, exit_code=exit_code, output=output))
    if ending == INTERRUPTED or (not is_kept and process.outcome is None):
        hint = f"timeout_s was its limit. Set it higher (at most {MAX_TIMEOUT_S}), or do less at a time."
    return ToolResult(
        content="\n".join(filter(None, [output, f"[{state}]"])),
        cut="middle",
        notes=[f"[{hint}]"] if hint else [],
        status="succeeded" if ending.isdecimal() else "failed",
        summary=f"{state}: …{_last_words(output)}" if len(output) > _LAST_WORDS else "",
        metadata={"exit_code": exit_code, "seconds": seconds, "truncated": taken.truncated},
    )


def _last_words(output: str) -> str:
    """Return the last lines, as many as are short together, or the beginning of a long last line."""
    *others, last = output.strip().splitlines()
    words = last.strip()[:_LAST_WORDS]
    for line in reversed(others):
        if len(words) + len(line) >= _LAST_WORDS:
            break
        words = f"{line}\n{words}"
    return words


def _left(outcome: CommandOutcome) -> str:
    """Return a note of the processes that ended with the command, or ''."""
    if not outcome.left_behind:
        return ""
    more = (
        f" and {len(outcome.left_behind) - MAX_NAMED_PROCESSES} more"
        if len(outcome.left_behind) > MAX_NAMED_PROCESSES
        else ""
    )
    named = ", ".join(f"`{line}`" for line in outcome.left_behind[:MAX_NAMED_PROCESSES])
    return f"; ended with it: {named}{more}. What shall run on needs background=true"

"""The tool `match`, which finds files by name, and lines in files."""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from tools_app.contract import Arguments, Danger, Synonyms, Target, ToolContext, ToolResult, tool
from tools_app.errors import ToolError
from tools_app.matching.in_documents import search_documents
from tools_app.matching.patterns import MatchRequest, MatchResult
from tools_app.paging import LONG_ENOUGH, next_call, size
from tools_app.sandbox import ProcessIdentity, supervision

TIMEOUT_S = 20.0
_MAX_NAMES = 20_000  # bytes of the paths that a pattern matches
_FRAME_BYTES = 400  # bytes of the texts around a page
_PROJECT_FOLDER = Path(__file__).resolve().parents[2]
_START = "import sys; sys.path.append(sys.argv[1]); from tools_app.matching.worker import main; main()"
# -I and -S: only the standard library and this project, without the server's environment
COMMAND = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, str(_PROJECT_FOLDER)]


class MatchArguments(Arguments):
    action: Literal["glob", "grep"] = Field(
        description="glob: files by name, newest first. grep: lines in files and documents."
    )
    pattern: str = Field(
        min_length=1,
        max_length=2000,
        description="glob: *.py (at any depth), src/**/*.{ts,tsx} (below path). grep: a Python regular expression, by "
        "line, or across lines with \\n.",
    )
    path: str | None = Field(None, description="A folder, or for grep a file.")
    glob: str | None = Field(None, description="For grep: only such files, as *.py.")
    ignore_case: bool = Field(False, description="Whatever the case.")
    context: int | None = Field(None, ge=0, le=10, description="Lines around each match.")
    offset: int = Field(1, ge=1, description="The first match.")

    @model_validator(mode="after")
    def _belong_together(self) -> "MatchArguments":
        if self.action == "glob" and (self.glob or self.context):
            raise ValueError("glob and context belong to action grep; action glob has its pattern in pattern")
        return self


@tool(
    name="match",
    description="Searches the workspace. What .gitignore leaves out, and .results/, only where `path` names it.",
    arguments=MatchArguments,
    danger=Danger.SAFE,
    target=Target.ENGINE,
    compact_template="match {action} {pattern}[ in {path}][, files {glob}][, from match {offset}]",
    synonyms=Synonyms(
        arguments={
            **dict.fromkeys(("query", "regex", "regexp", "search", "text", "searchpattern", "q"), "pattern"),
            **dict.fromkeys(("filepath", "directory", "dir", "folder", "cwd", "root", "file"), "path"),
            **dict.fromkeys(("include", "filepattern", "includepattern", "fileglob", "files"), "glob"),
            **dict.fromkeys(("caseinsensitive", "i", "insensitive"), "ignore_case"),
            **dict.fromkeys(("contextlines", "c", "lines"), "context"),
            **dict.fromkeys(("command", "mode", "type", "operation"), "action"),
        },
        values={
            "action": {
                **dict.fromkeys(("search", "rg", "regex", "content", "findtext"), "grep"),
                **dict.fromkeys(("find", "files", "ls", "findfiles"), "glob"),
            }
        },
    ),
    activity={
        "glob": "looked for {pattern}|looked for # patterns",
        "grep": "searched for {pattern}|searched for # patterns",
    },
)
async def match(arguments: MatchArguments, context: ToolContext) -> ToolResult:
    frame_bytes = size(_next_page(arguments, arguments.offset)) + _FRAME_BYTES
    query = await _request(arguments, context, max(context.page_bytes - frame_bytes, context.page_bytes // 2))
    answer = await search(query, context.started)
    if answer.documents:
        answer = await search_documents(query, answer, context.workspace)
    return ToolResult(content=_page_text(arguments, answer), cut="none", summary=_summary(arguments, answer))


async def files_like(pattern: str, context: ToolContext) -> list[str]:
    """Return the files of the workspace that a glob pattern matches, by name, without those hidden from commands.

    Raises: ToolError.
    """
    query = await _request(MatchArguments(action="glob", pattern=pattern), context, _MAX_NAMES)
    paths = (await search(query, context.started)).lines
    hidden = (await asyncio.to_thread(context.mask)).hidden
    return sorted(path for path in paths if not any(f"{path}/".startswith(f"{name}/") for name in hidden))


async def _request(arguments: MatchArguments, context: ToolContext, room: int) -> MatchRequest:
    root, names = await asyncio.to_thread(context.workspace.locate, arguments.path or ".")
    path_names = context.workspace.parts(arguments.path or ".")
    outermost = context.workspace.outermost_of(root)
    return MatchRequest(
        root=str(outermost),
        workspace_names=root.relative_to(outermost).parts,
        target_names=names,
        view_prefix="".join(f"{name}/" for name in path_names[: len(path_names) - len(names)]),
        owner=context.workspace.owner,
        action=arguments.action,
        pattern=arguments.pattern,
        glob=arguments.glob or "",
        ignore_case=arguments.ignore_case,
        context=arguments.context or 0,
        offset=arguments.offset,
        room=room,
    )


def _summary(arguments: MatchArguments, answer: MatchResult) -> str:
    """Return which matches a page shows, or "" if they are few."""
    if size("\n".join(answer.lines)) < LONG_ENOUGH:
        return ""
    last = arguments.offset + answer.shown_matches - 1
    return f"matches {arguments.offset:,} to {last:,} of {answer.total_matches:,}"


def _page_text(arguments: MatchArguments, answer: MatchResult) -> str:
    lines = [*answer.lines]
    first, last = arguments.offset, arguments.offset + answer.shown_matches - 1
    if not lines:
        lines.append(f"There are {answer.total_matches:,} matches only." if answer.total_matches else "No match.")
    elif last < answer.total_matches:
        lines.append(
            f"[matches {first:,} to {last:,} of {'' if answer.is_complete else 'at least '}{answer.total_matches:,}. "
            f"Next page: {_next_page(arguments, last + 1)}]"
        )
    elif first > 1 and answer.is_complete:
        lines.append(f"[matches {first:,} to {last:,}: the last ones]")
    if answer.unsearched:
        lines.append(f"(not searched: {'; '.join(answer.unsearched)})")
    if not answer.is_complete:
        lines.append("(the search took too long and was ended early; there may be more: choose a smaller folder)")
    return "\n".join(lines)


def _next_page(arguments: MatchArguments, offset: int) -> str:
    parameters = arguments.model_dump(exclude_defaults=True, exclude_none=True)
    return next_call("match", **(parameters | {"offset": offset}))


async def search(query: MatchRequest, on_start: Callable[[ProcessIdentity], None]) -> MatchResult:
    """Run the search in a child process, which is killed if the search is cancelled.

    Raises: ToolError if the search fails or takes too long.
    """
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=PIPE, stdout=PIPE, stderr=PIPE, env={}, start_new_session=True
    )
    try:
        on_start(supervision.process_identity(process.pid))
        async with asyncio.timeout(TIMEOUT_S):
            output, errors = await process.communicate(json.dumps(asdict(query)).encode())
    except TimeoutError as error:
        raise ToolError(
            f"The search took over {TIMEOUT_S:.0f} seconds and was stopped. Use a simpler pattern or a smaller folder."
        ) from error
    finally:
        if process.returncode is None:
            supervision.signal_group(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        reason = errors.decode(errors="replace").strip().rpartition("\n")[2] or "it was killed"
        raise ToolError(f"The search failed: {reason}.")
    answer = MatchResult(**json.loads(output))
    if answer.error:
        raise ToolError(answer.error)
    return answer

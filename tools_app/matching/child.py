"""The server's side of the searching process: start it, wait for its answer, and leave nothing of it behind."""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from tools_app.errors import ToolError
from tools_app.matching.query import Answer, Query
from tools_app.sandbox import process_groups
from tools_app.sandbox.base import Started

TIMEOUT_S = 20.0
_HOUSE = Path(__file__).resolve().parents[2]
_START = "import sys; sys.path.append(sys.argv[1]); from tools_app.matching.worker import main; main()"
# -I and -S: nothing but the standard library and the house itself; nothing of the server's environment
COMMAND = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, str(_HOUSE)]


async def search(query: Query, on_start: Callable[[Started], None]) -> Answer:
    """Raises ToolError when the search fails or takes too long; when cancelled, the process is gone as well."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=PIPE, stdout=PIPE, stderr=PIPE, env={}, start_new_session=True
    )
    try:
        on_start(process_groups.of(process.pid))
        async with asyncio.timeout(TIMEOUT_S):
            output, errors = await process.communicate(json.dumps(asdict(query)).encode())
    except TimeoutError as error:
        raise ToolError(
            f"The search took over {TIMEOUT_S:.0f} seconds and was stopped. Use a simpler pattern or a smaller folder."
        ) from error
    finally:
        await _end(process)
    if process.returncode:
        reason = errors.decode(errors="replace").strip().rpartition("\n")[2] or "it was killed"
        raise ToolError(f"The search failed: {reason}.")
    answer = Answer(**json.loads(output))
    if answer.error:
        raise ToolError(answer.error)
    return answer


async def _end(process: Process) -> None:
    if process.returncode is None:
        process_groups.send(process.pid, signal.SIGKILL)
        await process.wait()

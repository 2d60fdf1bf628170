"""The parent's side, which runs one of our modules in a child process.

A thread cannot be stopped while it computes on hostile data or blocks in a library. A process can be killed, has its
own limits, and holds no secrets that hostile data could reach. Starting it costs 0.1 s and its imports.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import threading
import weakref
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

_START = """
import resource, sys
project_root, module, cpu_s, memory = sys.argv[1:]
sys.path.append(project_root)
for resource_id, limit in ((resource.RLIMIT_CPU, cpu_s), (resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
    resource.setrlimit(resource_id, (int(limit), int(limit)))
from tools_app.child_process.child import main
main(module)
"""
_PROJECT_ROOT = str(Path(__file__).resolve().parents[2])
_MAX_CHILDREN = 4  # concurrent children of a server process for each module; each takes a core and 80 MB or more
_request_slots = threading.BoundedSemaphore(2)  # limits the request threads that run a child
_Gates = dict[str, asyncio.Semaphore]
_gates: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Gates] = weakref.WeakKeyDictionary()


class NoAnswer(Exception):
    """The child ran into a limit, took too long, or failed."""


@dataclass(frozen=True, kw_only=True)
class ChildLimits:
    """Limits of a child: `wall_s` in seconds, `cpu_s` in seconds of one core, `memory` in bytes of address space."""

    wall_s: float = 60
    cpu_s: int = 20
    memory: int = 1024**3


_DEFAULT_LIMITS = ChildLimits()


async def answer_of(
    module: str, request: Mapping[str, Any], body: bytes = b"", limits: ChildLimits = _DEFAULT_LIMITS
) -> Any:
    """Return the result of `module.answer(request, body)` from a child process. Request and result are JSON values.

    Raises NoAnswer. A cancelled call kills the child.
    """
    gate = _gates.setdefault(asyncio.get_running_loop(), {}).setdefault(module, asyncio.Semaphore(_MAX_CHILDREN))
    arguments = (_PROJECT_ROOT, module, str(limits.cpu_s), str(limits.memory))
    async with gate:
        message = json.dumps(request).encode() + b"\n" + body
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-c", _START, *arguments, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}
        )
        try:
            async with asyncio.timeout(limits.wall_s):
                output, _ = await process.communicate(message)
            return json.loads(output)
        except (TimeoutError, ValueError) as error:  # a child that a limit killed leaves no JSON
            raise NoAnswer from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


@contextmanager
def lines_of(module: str, body: IO[bytes], limits: ChildLimits = _DEFAULT_LIMITS) -> Iterator[Iterator[Any]]:
    """Yield the values of the iterator that `module.answer({}, body)` returns. Blocks the thread.

    The output is a temporary file that is parsed line by line, so that it does not block other threads for long.
    Raises NoAnswer.
    """
    with TemporaryFile() as input_file, TemporaryFile() as output:
        input_file.write(b"{}\n")
        shutil.copyfileobj(body, input_file)
        input_file.seek(0)
        command = (sys.executable, "-I", "-c", _START, _PROJECT_ROOT, module, str(limits.cpu_s), str(limits.memory))
        try:
            with _request_slots:
                subprocess.run(
                    command, stdin=input_file, stdout=output, stderr=DEVNULL, env={}, timeout=limits.wall_s, check=True
                )
        except subprocess.SubprocessError as error:
            raise NoAnswer from error
        output.seek(0)
        yield map(json.loads, output)

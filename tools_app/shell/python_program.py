"""The program of a Python that stays: it runs the code of one call after another, with the variables of earlier ones.

The sandbox's Python interpreter, 3.8 or newer, runs this text by itself, so it imports nothing of this project. A
request is a line of JSON on the standard input: the code, its time limit in seconds, the mark that ends its output, and
the values of secrets by their placeholders.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import signal
import sys
import traceback
import types
from contextlib import suppress
from typing import Any, NoReturn

INTERRUPTED = "interrupted"


def main() -> None:
    requests, output, process = os.fdopen(os.dup(0), "rb"), os.dup(1), os.getpid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the code's input is empty
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    module = sys.modules["__main__"] = types.ModuleType("__main__")  # without the names of this program
    for number, line in enumerate(requests, 1):
        request = json.loads(line)
        mark = request.pop("mark")
        ending = _run(f"<call {number}>", vars(module), **request)
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        if os.getpid() != process:
            os._exit(0)  # the code has forked
        os.write(output, f"\n{mark} {ending}\n".encode())


def _run(name: str, variables: dict[str, Any], *, code: str, seconds: float, secrets: dict[str, str]) -> str:
    """Run the code, print the value of a last expression, and return the exit code or `INTERRUPTED`."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)  # for tracebacks
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        tree = _parse(code, name, secrets)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), variables)  # noqa: S102  in the sandbox
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), variables)  # noqa: S307
            sys.displayhook(value)
        return "0"
    except SystemExit as error:
        return str(error.code & 255 if isinstance(error.code, int) else int(error.code is not None))
    except BaseException as error:  # noqa: BLE001  the code's own errors
        signal.setitimer(signal.ITIMER_REAL, 0)
        report = traceback.TracebackException.from_exception(error)
        report.stack = traceback.StackSummary.from_list(_own_frames(report.stack))
        sys.stderr.write("".join(report.format()))
        return INTERRUPTED if isinstance(error, TimeIsOver) else "1"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _own_frames(stack: traceback.StackSummary) -> list[traceback.FrameSummary]:
    """Return the frames from the code on, without those of this program."""
    first = next((index for index, frame in enumerate(stack) if frame.filename.startswith("<call ")), len(stack))
    return [frame for frame in stack[first:] if frame.filename != "<string>"]


class TimeIsOver(KeyboardInterrupt):
    """The end of the call's time."""


def _interrupt(*_: Any) -> NoReturn:
    raise TimeIsOver


def _parse(code: str, name: str, secrets: dict[str, str]) -> ast.Module:
    """Parse code. The values of secrets are put into the parsed texts, so that quotes in them do no harm."""
    values = {}
    for number, (placeholder, value) in enumerate(secrets.items()):
        values[f"_secret_{number}_"] = value
        code = code.replace(placeholder, f"_secret_{number}_")
    tree = ast.parse(code, name)
    return ast.fix_missing_locations(_Secrets(values).visit(tree)) if values else tree


class _Secrets(ast.NodeTransformer):
    """Values in place of the variables that stand for them, alone or in a text."""

    def __init__(self, values: dict[str, str]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._values.get(node.id)
        return node if value is None else ast.copy_location(ast.Constant(value), node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        for variable, value in self._values.items():
            if isinstance(node.value, str):
                node.value = node.value.replace(variable, value)
            elif isinstance(node.value, bytes):
                node.value = node.value.replace(variable.encode(), value.encode())
        return node


if __name__ == "__main__":
    main()

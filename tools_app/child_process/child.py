"""The child's side. It reads a line of JSON and a body from stdin, and writes the module's answer as JSON to stdout."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module


def main(module: str) -> None:
    """Call `answer(request, body)` of the module and write its result. An iterator becomes one line for each value.

    The parent learns nothing of an exception, only that there is no answer.
    """
    request = json.loads(sys.stdin.buffer.readline())
    answer = import_module(module).answer(request, sys.stdin.buffer.read())
    for value in answer if isinstance(answer, Iterator) else [answer]:
        json.dump(value, sys.stdout)
        sys.stdout.write("\n")

"""The child's side: a line of JSON and some bytes on stdin, the module's answer as JSON on stdout."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module


def main(module: str) -> None:
    """`module` has `answer(request, body)`; whatever it raises, the parent only sees that there is no answer.

    An answer that is an iterator is a line for each of its values.
    """
    request = json.loads(sys.stdin.buffer.readline())
    answer = import_module(module).answer(request, sys.stdin.buffer.read())
    for value in answer if isinstance(answer, Iterator) else [answer]:
        json.dump(value, sys.stdout)
        sys.stdout.write("\n")

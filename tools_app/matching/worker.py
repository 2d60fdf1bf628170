"""The process that searches: a Query on stdin, an Answer on stdout."""

import json
import os
import re
import resource
import signal
import sys
from dataclasses import asdict

from tools_app.errors import ToolError
from tools_app.files.safe_open import in_words
from tools_app.matching.query import Answer, Query
from tools_app.matching.search import search

MEMORY = 1024**3  # bytes


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    query = Query(**json.load(sys.stdin))
    signal.setitimer(signal.ITIMER_REAL, 2 * query.seconds + 2)
    os.chdir(query.root)  # its parents may be closed to the owner
    if query.owner:
        _become(*query.owner)
    json.dump(asdict(_answer(query)), sys.stdout)


def _become(uid: int, gid: int) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def _answer(query: Query) -> Answer:
    try:
        with in_words("/".join(query.names) or "The workspace"):
            return search(query)
    except (re.error, OverflowError, RecursionError) as error:
        return Answer(lines=[], error=f"The pattern is not valid: {error}.")
    except ToolError as error:
        return Answer(lines=[], error=str(error))

"""What looks like a call and is none."""

import re
from collections.abc import Collection

_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)


class Unreadable(Exception):
    """Says why, in a sentence for the model. It quotes only names from the reply: half a secret is not redacted."""


def no_such_tool(name: str, tools: Collection[str]) -> Unreadable:
    wanted = f" called {name!r}" if _NAME.fullmatch(name) else " of that name"
    return Unreadable(f"there is no tool{wanted}; the tools are: {', '.join(sorted(tools))}.")

"""What no backend does yet, and what no program can be given."""

import os

from tools_app.errors import InvalidArguments
from tools_app.sandbox.base import Command


def check(command: Command) -> None:
    """Raises ToolError if `command` cannot run in any sandbox."""
    try:
        text = os.fsencode(command.text)
    except UnicodeEncodeError as error:
        raise InvalidArguments("The command contains half a character. Send it again.") from error
    if b"\0" in text:
        raise InvalidArguments("The command contains a NUL character. Write such bytes as an escape, like '\\0'.")
    if len(text) > MAX_TEXT:
        raise InvalidArguments("The command is too long. Write a script with the tool file, and run that.")


MAX_TEXT = 120_000  # bytes; Linux takes 128 KiB for one argument

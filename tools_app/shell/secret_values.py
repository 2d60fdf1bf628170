"""Puts the values of secrets in the place of their placeholders, in the arguments of a tool that takes secrets."""

import re
from collections.abc import Mapping
from typing import TypeVar

from tools_app.contract.base import Arguments

A = TypeVar("A", bound=Arguments)


def filled(arguments: A, secrets: Mapping[str, str], *names: str) -> A:
    """The arguments with the values in the texts `names`. It is for this call only: never stored, never shown."""
    texts = {name: text for name in names if isinstance(text := getattr(arguments, name), str)}
    return arguments.model_copy(update={name: with_values(text, secrets) for name, text in texts.items()})


def with_values(text: str, secrets: Mapping[str, str]) -> str:
    """`secrets` are values by placeholder. A value is not looked into: what it says is no placeholder."""
    return placeholders(secrets).sub(lambda found: secrets[found[0]], text) if secrets else text


def placeholders(secrets: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, secrets)))

"""Puts secrets into a shell command as variables of its environment.

So a value is no part of the command: no quote or `$(` in it is taken for syntax, and `ps` does not show it. Only where
the shell expands nothing, in a here-document with a quoted end, the value itself takes the placeholder's place.
"""

import re
from collections.abc import Mapping
from typing import TypeVar

from tools_app.contract import Arguments
from tools_app.shell import syntax

_EXPANSIONS = {  # by the token that contains the placeholder; each yields exactly one word
    (syntax.WORD, "plain"): '"${%s}"',
    (syntax.WORD, "literal"): "'\"${%s}\"'",
    (syntax.WORD, "escaped"): "'\"${%s}\"$'",
    (syntax.IN_QUOTES, "plain"): "${%s}",
    (syntax.IN_HERE_DOCUMENT, "plain"): "${%s}",
}

A = TypeVar("A", bound=Arguments)


def as_variables(command: str, secrets: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The command without placeholders, and the environment that it needs. `secrets` are values by placeholder."""
    found = list(placeholders(secrets).finditer(command)) if secrets else []
    if not found:
        return command, {}
    names = {placeholder: f"SECRET_{number}" for number, placeholder in enumerate(secrets, 1)}
    reader = _Reader(command)
    reader.script("")
    parts, end = [], 0
    for placeholder in found:
        expansion = reader.expansion_at(placeholder.start())
        value = secrets[placeholder[0]] if expansion is None else expansion % names[placeholder[0]]
        parts += [command[end : placeholder.start()], value]
        end = placeholder.end()
    return "".join([*parts, command[end:]]), {names[placeholder]: value for placeholder, value in secrets.items()}


class _Reader(syntax.Reader):
    """Remembers for each position how a variable must be written to be expanded there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._expansions: list[tuple[int, int, str | None]] = []

    def expansion_at(self, place: int) -> str | None:
        """None where nothing is expanded. Outside of all that was understood, as in a comment, a word of its own."""
        covering = (expansion for start, end, expansion in self._expansions if start <= place < end)
        return next(covering, '"${%s}"')

    def _take(self, pattern: re.Pattern[str], end: int = syntax.END) -> re.Match[str] | None:
        found = super()._take(pattern, end)
        if found and (expansion := _EXPANSIONS.get((pattern, found.lastgroup or ""))):
            self._expansions.append((*found.span(), expansion))
        return found

    def _read_here_documents(self) -> None:
        began, has_literal = self._at, any(document.is_literal for document in self._here_documents)
        super()._read_here_documents()
        if has_literal:
            self._expansions.append((began, self._at, None))


def with_secrets(arguments: A, secrets: Mapping[str, str], *names: str) -> A:
    """The arguments with the values in the texts `names`. For this call only: they are never stored or shown."""
    texts = {name: text for name in names if isinstance(text := getattr(arguments, name), str)}
    return arguments.model_copy(update={name: with_values(text, secrets) for name, text in texts.items()})


def with_values(text: str, secrets: Mapping[str, str]) -> str:
    """`secrets` are values by placeholder. Placeholders within a value are not replaced."""
    return placeholders(secrets).sub(lambda found: secrets[found[0]], text) if secrets else text


def placeholders(secrets: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, secrets)))

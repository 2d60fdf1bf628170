"""Substitution of secrets in a shell command by environment variables.

The value is not part of the command: the shell does not interpret quotes or `$(` in it, and `ps` does not show it. Only
where the shell expands nothing, in a here-document with a quoted delimiter, the value replaces the placeholder itself.
"""

import re
from collections.abc import Mapping
from typing import TypeVar

from tools_app.contract import Arguments
from tools_app.shell import syntax

_EXPANSIONS = {  # by the token around the placeholder; each expands to exactly one word
    (syntax.WORD, "plain"): '"${%s}"',
    (syntax.WORD, "literal"): "'\"${%s}\"'",
    (syntax.WORD, "escaped"): "'\"${%s}\"$'",
    (syntax.IN_QUOTES, "plain"): "${%s}",
    (syntax.IN_HERE_DOCUMENT, "plain"): "${%s}",
}

A = TypeVar("A", bound=Arguments)


def as_variables(command: str, secrets: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the command without placeholders, and its environment. `secrets` maps placeholders to values."""
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
    """A reader that records how a variable must be written at each position to be expanded there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._expansions: list[tuple[int, int, str | None]] = []

    def expansion_at(self, place: int) -> str | None:
        """Return the format of a variable at `place`, None where nothing is expanded.

        In text that was not parsed, such as a comment, the variable becomes a separate word.
        """
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
    """Return the arguments with secrets filled in to the texts `names`. The result must never be stored or shown."""
    texts = {name: text for name in names if isinstance(text := getattr(arguments, name), str)}
    return arguments.model_copy(update={name: with_values(text, secrets) for name, text in texts.items()})


def with_values(text: str, secrets: Mapping[str, str]) -> str:
    """Replace placeholders by their values, except for placeholders within a value."""
    return placeholders(secrets).sub(lambda found: secrets[found[0]], text) if secrets else text


def placeholders(secrets: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, secrets)))

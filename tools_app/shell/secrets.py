"""Substitution of secrets in a shell command by environment variables.

The value is not part of the command: the shell does not interpret quotes or `$(` in it, and `ps` does not show it. Only
where the shell expands nothing, in a here-document with a quoted delimiter, the value replaces the placeholder itself.
"""

import re
from collections.abc import Mapping
from typing import TypeVar

from tools_app.contract import Arguments
from tools_app.shell import syntax, tokens

_EXPANSIONS = {  # by the token around the placeholder; each expands to exactly one word
    (tokens.WORD, "plain"): '"${%s}"',
    (tokens.WORD, "literal"): "'\"${%s}\"'",
    (tokens.WORD, "escaped"): "'\"${%s}\"$'",
    (tokens.IN_EXPANSION, "plain"): '"${%s}"',
    (tokens.IN_EXPANSION, "literal"): "'\"${%s}\"'",
    (tokens.IN_EXPANSION, "escaped"): "'\"${%s}\"$'",
    (tokens.IN_QUOTES, "plain"): "${%s}",
    (tokens.IN_HERE_DOCUMENT, "plain"): "${%s}",
}

A = TypeVar("A", bound=Arguments)


def as_variables(command: str, secrets: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the command without placeholders, and its environment. `secrets` maps placeholders to values."""
    matches = list(placeholders(secrets).finditer(command)) if secrets else []
    if not matches:
        return command, {}
    names = {placeholder: f"SECRET_{number}" for number, placeholder in enumerate(secrets, 1)}
    parser = _ExpansionParser(command)
    parser.read_script("")
    parts, end = [], 0
    for placeholder in matches:
        expansion = parser.expansion_at(placeholder.start())
        value = secrets[placeholder[0]] if expansion is None else expansion % names[placeholder[0]]
        parts += [command[end : placeholder.start()], value]
        end = placeholder.end()
    return "".join([*parts, command[end:]]), {names[placeholder]: value for placeholder, value in secrets.items()}


class _ExpansionParser(syntax.ShellParser):
    """A parser that records how a variable must be written at each position to be expanded there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._expansions: list[tuple[int, int, str | None]] = []

    def expansion_at(self, position: int) -> str | None:
        """Return the format of a variable at `position`, None where nothing is expanded.

        In text that was not parsed, such as a comment, the variable becomes a separate word.
        """
        covering = (expansion for start, end, expansion in self._expansions if start <= position < end)
        return next(covering, '"${%s}"')

    def _match(self, pattern: re.Pattern[str], end: int = syntax.END) -> re.Match[str] | None:
        match = super()._match(pattern, end)
        if match and (expansion := _EXPANSIONS.get((pattern, match.lastgroup or ""))):
            self._expansions.append((*match.span(), expansion))
        return match

    def _read_unescaped(self, content: re.Match[str], escape: re.Pattern[str]) -> None:
        outer, self._expansions = self._expansions, []
        super()._read_unescaped(content, escape)
        removed = {match.start() for match in escape.finditer(content[1])}
        positions = [content.start(1) + index for index in range(len(content[1]) + 1) if index not in removed]
        inner = ((positions[start], positions[end], expansion) for start, end, expansion in self._expansions)
        self._expansions = [*outer, *inner]

    def _read_here_documents(self) -> None:
        start, has_literal = self._position, any(document.is_literal for document in self._here_documents)
        super()._read_here_documents()
        if has_literal:
            self._expansions.append((start, self._position, None))


def with_secrets(arguments: A, secrets: Mapping[str, str], *names: str) -> A:
    """Return the arguments with secrets filled in to the texts `names`. The result must never be stored or shown."""
    texts = {name: text for name in names if isinstance(text := getattr(arguments, name), str)}
    return arguments.model_copy(update={name: with_values(text, secrets) for name, text in texts.items()})


def with_values(text: str, secrets: Mapping[str, str]) -> str:
    """Replace placeholders by their values, except for placeholders within a value."""
    return placeholders(secrets).sub(lambda match: secrets[match[0]], text) if secrets else text


def placeholders(secrets: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, secrets)))

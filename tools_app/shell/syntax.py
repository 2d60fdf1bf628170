"""A parser that lists the simple commands of a shell text, including those in pipes, subshells and substitutions.

It serves to judge a command before it runs. It never raises, and in doubt it reports a command too many. The grammar is
that of POSIX (Shell Command Language, 2.10) with the redirections of bash.
"""

import re
import sys
from dataclasses import dataclass, field

END = sys.maxsize
SUBSTITUTION_MARK = "$(…)"  # stands for the output of another command within a word
_MAX_DEPTH = 40

_BLANK = re.compile(r"(?:[ \t\r]|#[^\n]*)+")
_REDIRECTION = re.compile(r"(?:\d+|&)?(>>|>\||>&|>|<<<|<<-?|<&|<>|<)(?!\()[ \t]*")
_OPERATOR = re.compile(r"\|\||&&|;;|\|&|[;&|\n()]")
WORD = re.compile(
    r"""(?P<plain>[^\s;&|<>()\\'"$`]+) | (?P<command>[$<>]\( | `) | (?P<quote>\$?") | '(?P<literal>[^']*)'
    | \$'(?P<escaped>(?:[^'\\]|\\.)*)' | (?P<open>') | \\(?P<character>.?) | (?P<dollar>\$)""",
    re.DOTALL | re.VERBOSE,
)
IN_QUOTES = re.compile(
    r"""(?P<plain>[^\\"$`]+) | (?P<end>") | (?P<command>\$\( | `) | \\(?P<character>.?) | (?P<dollar>\$)""",
    re.DOTALL | re.VERBOSE,
)
IN_HERE_DOCUMENT = re.compile(
    r"""(?P<plain>[^\\$`]+) | (?P<command>\$\( | `) | \\(?P<character>.?) | (?P<dollar>\$)""", re.DOTALL | re.VERBOSE
)


@dataclass
class SimpleCommand:
    """A command: its words without quotes, the files it writes to, and the text it reads from here-documents."""

    words: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    text: str = ""
    piped_from: "SimpleCommand | None" = None


@dataclass
class ParsedScript:
    """The commands of a text. `is_complete` is False if a quote or bracket is unclosed: commands may be missing."""

    commands: list[SimpleCommand] = field(default_factory=list)
    is_complete: bool = True


def parse_script(text: str) -> ParsedScript:
    """Return all simple commands of `text`, including nested ones."""
    parser = ShellParser(text.replace("\\\n", "").replace("${IFS}", " ").replace("$IFS", " "))
    parser.read_script("")
    return parser.result


@dataclass(frozen=True)
class _HereDocument:
    command: SimpleCommand
    end: str
    is_literal: bool


_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def _keep_unknown(escape: re.Match[str]) -> str:
    """Keep an unknown escape sequence literally, as shells do. Python would warn."""
    return escape[0] if escape[1] in "\\'\"abfnrtvxuU01234567" else f"\\{escape[0]}"


class ShellParser:
    """A parser that reads the text once. Each method consumes one construct and advances `_position`."""

    def __init__(self, text: str) -> None:
        self.result = ParsedScript()
        self._text = text
        self._position = 0
        self._closers: list[str] = []
        self._here_documents: list[_HereDocument] = []

    def read_script(self, closer: str) -> None:
        """Read commands up to `closer`, or to the end."""
        if len(self._closers) >= _MAX_DEPTH:
            self._abort()
        self._closers.append(closer)
        command = SimpleCommand()
        while self._position < len(self._text) and self._text[self._position] != closer:
            command = self._read_element(command)
        if closer and self._position >= len(self._text):
            self._abort()
        self._position += len(closer)
        self._closers.pop()

    def _read_element(self, command: SimpleCommand) -> SimpleCommand:
        """Read the next element. Return the command that the following elements belong to."""
        if self._match(_BLANK):
            return command
        if redirection := self._match(_REDIRECTION):
            self._read_redirection(command, redirection[1])
            return command
        if operator := self._match(_OPERATOR):
            if operator[0] == "(":
                self.read_script(")")
            elif operator[0] == "\n":
                self._read_here_documents()
            return SimpleCommand(piped_from=command if operator[0] in ("|", "|&") else None)
        self._record(command).words.append(self._read_word())
        return command

    def _read_redirection(self, command: SimpleCommand, operator: str) -> None:
        start = self._position
        target = self._read_word()
        if operator in ("<<", "<<-"):
            is_literal = self._text[start : self._position] != target
            self._here_documents.append(_HereDocument(command, target, is_literal))
        elif operator == "<<<":
            command.text += target
        elif ">" in operator and not (operator == ">&" and (target.isdigit() or target == "-")):
            self._record(command).writes.append(target)

    def _record(self, command: SimpleCommand) -> SimpleCommand:
        if not command.words and not command.writes:
            self.result.commands.append(command)
        return command

    def _read_here_documents(self) -> None:
        documents, self._here_documents = self._here_documents, []
        for document in documents:
            last_line = re.compile(rf"^\t*{re.escape(document.end)}$", re.MULTILINE).search(self._text, self._position)
            start, end = self._position, last_line.start() if last_line else len(self._text)
            document.command.text += self._text[start:end]
            while not document.is_literal and self._position < end and (token := self._match(IN_HERE_DOCUMENT, end)):
                self._token_text(token)
            self._position = max(self._position, last_line.end() if last_line else end)

    def _read_word(self) -> str:
        parts: list[str] = []
        start = self._position
        while True:
            is_closed = self._closers[-1] == "`" and self._text[self._position : self._position + 1] == "`"
            if is_closed or not (token := self._match(WORD)):
                break
            parts.append(self._token_text(token))
        if self._position == start:  # a character that no token matches
            self._position += 1
        return "".join(parts)

    def _token_text(self, token: re.Match[str]) -> str:
        """Return the text of a token, after reading the construct that it opens."""
        match token.lastgroup:
            case "command":
                self.read_script("`" if token[0] == "`" else ")")
                return SUBSTITUTION_MARK
            case "quote":
                return self._read_quoted()
            case "escaped":
                unescaped = _ESCAPE.sub(_keep_unknown, token["escaped"])
                return unescaped.encode("latin-1", "backslashreplace").decode("unicode_escape", "replace")
            case "open":
                return self._abort()
            case group:
                return token[group or 0]

    def _read_quoted(self) -> str:
        parts: list[str] = []
        while token := self._match(IN_QUOTES):
            if token.lastgroup == "end":
                return "".join(parts)
            parts.append(self._token_text(token))
        return self._abort()

    def _abort(self) -> str:
        self.result.is_complete = False
        self._position = len(self._text)
        return ""

    def _match(self, pattern: re.Pattern[str], end: int = END) -> re.Match[str] | None:
        if match := pattern.match(self._text, self._position, end):
            self._position = match.end()
        return match

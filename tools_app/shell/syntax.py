"""A parser that lists the simple commands of a shell text, including those in pipes, subshells and substitutions.

It serves to judge a command before it runs. It never raises, and in doubt it reports a command too many. The grammar is
that of POSIX (Shell Command Language, 2.10) with the redirections of bash.
"""

import re
import sys
from dataclasses import dataclass, field

END = sys.maxsize
SUBSTITUTION = "$(…)"  # stands for the output of another command within a word
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
class Script:
    """The commands of a text. `complete` is False if a quote or bracket is unclosed and commands may be missing."""

    commands: list[SimpleCommand] = field(default_factory=list)
    complete: bool = True


def parse_script(text: str) -> Script:
    """Return all simple commands of `text`, including nested ones."""
    reader = Reader(text.replace("\\\n", "").replace("${IFS}", " ").replace("$IFS", " "))
    reader.script("")
    return reader.found


@dataclass(frozen=True)
class _HereDocument:
    command: SimpleCommand
    end: str
    is_literal: bool


_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def _keep_unknown(escape: re.Match[str]) -> str:
    """Keep an unknown escape sequence literally, as shells do. Python would warn."""
    return escape[0] if escape[1] in "\\'\"abfnrtvxuU01234567" else f"\\{escape[0]}"


class Reader:
    """A parser that reads the text once. Each method consumes one construct and advances `_at`."""

    def __init__(self, text: str) -> None:
        self.found = Script()
        self._text = text
        self._at = 0
        self._closers: list[str] = []
        self._here_documents: list[_HereDocument] = []

    def script(self, closer: str) -> None:
        """Read commands up to `closer`, or to the end."""
        if len(self._closers) >= _MAX_DEPTH:
            self._give_up()
        self._closers.append(closer)
        command = SimpleCommand()
        while self._at < len(self._text) and self._text[self._at] != closer:
            command = self._part(command)
        if closer and self._at >= len(self._text):
            self._give_up()
        self._at += len(closer)
        self._closers.pop()

    def _part(self, command: SimpleCommand) -> SimpleCommand:
        """Read the next element. Return the command that the following elements belong to."""
        if self._take(_BLANK):
            return command
        if redirection := self._take(_REDIRECTION):
            self._redirect(command, redirection[1])
            return command
        if operator := self._take(_OPERATOR):
            if operator[0] == "(":
                self.script(")")
            elif operator[0] == "\n":
                self._read_here_documents()
            return SimpleCommand(piped_from=command if operator[0] in ("|", "|&") else None)
        self._keep(command).words.append(self._word())
        return command

    def _redirect(self, command: SimpleCommand, operator: str) -> None:
        began = self._at
        target = self._word()
        if operator in ("<<", "<<-"):
            is_literal = self._text[began : self._at] != target
            self._here_documents.append(_HereDocument(command, target, is_literal))
        elif operator == "<<<":
            command.text += target
        elif ">" in operator and not (operator == ">&" and (target.isdigit() or target == "-")):
            self._keep(command).writes.append(target)

    def _keep(self, command: SimpleCommand) -> SimpleCommand:
        if not command.words and not command.writes:
            self.found.commands.append(command)
        return command

    def _read_here_documents(self) -> None:
        waiting, self._here_documents = self._here_documents, []
        for document in waiting:
            last_line = re.compile(rf"^\t*{re.escape(document.end)}$", re.MULTILINE).search(self._text, self._at)
            start, end = self._at, last_line.start() if last_line else len(self._text)
            document.command.text += self._text[start:end]
            while not document.is_literal and self._at < end and (token := self._take(IN_HERE_DOCUMENT, end)):
                self._meaning(token)
            self._at = max(self._at, last_line.end() if last_line else end)

    def _word(self) -> str:
        pieces: list[str] = []
        began = self._at
        while not self._is_closed() and (token := self._take(WORD)):
            pieces.append(self._meaning(token))
        if self._at == began:  # a character that no token matches
            self._at += 1
        return "".join(pieces)

    def _is_closed(self) -> bool:
        return self._closers[-1] == "`" and self._text[self._at : self._at + 1] == "`"

    def _meaning(self, token: re.Match[str]) -> str:
        """Return the text of a token, after reading the construct that it opens."""
        match token.lastgroup:
            case "command":
                self.script("`" if token[0] == "`" else ")")
                return SUBSTITUTION
            case "quote":
                return self._quoted()
            case "escaped":
                known = _ESCAPE.sub(_keep_unknown, token["escaped"])
                return known.encode("latin-1", "backslashreplace").decode("unicode_escape", "replace")
            case "open":
                return self._give_up()
            case group:
                return token[group or 0]

    def _quoted(self) -> str:
        pieces: list[str] = []
        while token := self._take(IN_QUOTES):
            if token.lastgroup == "end":
                return "".join(pieces)
            pieces.append(self._meaning(token))
        return self._give_up()

    def _give_up(self) -> str:
        self.found.complete = False
        self._at = len(self._text)
        return ""

    def _take(self, pattern: re.Pattern[str], end: int = END) -> re.Match[str] | None:
        if found := pattern.match(self._text, self._at, end):
            self._at = found.end()
        return found

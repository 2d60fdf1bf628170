"""A parser that lists the simple commands of a shell text, including those in pipes, subshells and substitutions.

It serves to judge a command before it runs. It never raises, and in doubt it reports a command too many. The grammar is
that of bash.
"""

import re
import sys

from tools_app.shell import tokens
from tools_app.shell.script import SUBSTITUTION_MARK, Group, HereDocument, ParsedScript, SimpleCommand

END = sys.maxsize
_ARITHMETIC_MARK = "$((…))"
_MAX_DEPTH = 40


def parse_script(text: str) -> ParsedScript:
    """Return all simple commands of `text`, including nested ones."""
    result = ParsedScript()
    # IFS ends a word. The quotes keep a following # from starting a comment.
    ShellParser(text.replace("${IFS}", " ''").replace("$IFS", " ''"), result).read_script("")
    return result


def _arguments(command: SimpleCommand) -> str:
    start = 0
    while start < len(command.words) and command.words[start] in tokens.KEYWORDS:
        start += 1
    return " ".join(command.words[start + 1 :])


class ShellParser:
    """A parser that reads the text once. Each method consumes one construct and advances `_position`."""

    def __init__(self, text: str, result: ParsedScript | None = None) -> None:
        self._result = result or ParsedScript()
        self._text = text
        self._position = 0
        self._depth = 0
        self._here_documents: list[HereDocument] = []
        self._documents_by_reader: dict[int, list[HereDocument]] = {}
        self._groups: list[Group] = []
        self._closed_group: Group | None = None  # the group that the current command ends
        self._expects_keyword = True
        self._scope: tuple[int, ...] = ()  # of the current subshell
        self._scopes = 0
        self._outer_groups = 0  # groups around the current subshell

    def read_script(self, closer: str, operator: str = "") -> None:
        """Read commands up to `closer`, or to the end. `operator` precedes the first."""
        if self._depth >= _MAX_DEPTH:
            self._abort()
        self._depth += 1
        outer = self._groups, self._scope, self._outer_groups
        self._groups = self._groups[-1:]
        base = self._outer_groups = len(self._groups)
        self._scope, self._scopes = (*self._scope, self._scopes), self._scopes + 1
        command = self._new_command(None, operator)
        while self._position < len(self._text) and self._text[self._position] != closer:
            command = self._read_element(command, base)
        if closer and self._position >= len(self._text):
            self._abort()
        self._position += len(closer)
        self._groups, self._scope, self._outer_groups = outer
        self._depth -= 1

    def _new_command(self, source: SimpleCommand | None, operator: str = "") -> SimpleCommand:
        self._expects_keyword = True
        self._closed_group = None
        return SimpleCommand(
            piped_from=source or (self._groups[-1].source if self._groups else None),
            operator=operator,
            runs_aside=operator in ("|", "|&"),
        )

    def _read_element(self, command: SimpleCommand, base: int) -> SimpleCommand:
        """Read the next element. Return the command that the following elements belong to."""
        if self._match(tokens.BLANK):
            return command
        if redirection := self._match(tokens.REDIRECTION):
            self._read_redirection(command, redirection[1])
            return command
        if operator := self._match(tokens.OPERATOR):
            return self._after_operator(command, operator[0])
        start = self._position
        has_subscript = self._expects_keyword and self._match(tokens.SUBSCRIPT)
        word = f"{has_subscript[0]}{self._read_expansion(']')}" if has_subscript else ""
        word += self._read_word(command)
        self._record(command).words.append(word)
        if self._expects_keyword and self._text[start : self._position] == word:
            return self._after_keyword(command, word, base)
        self._expects_keyword = False
        return command

    def _after_operator(self, command: SimpleCommand, operator: str) -> SimpleCommand:
        """Return the command that follows an operator."""
        if operator == "(":
            end = self._end_of_arithmetic(self._position) if self._text.startswith("(", self._position) else 0
            if end:
                self._read_expansions_until(end)
                return command
            command.is_definition = bool(command.words)
            group = Group(len(self._result.commands), command.piped_from)
            self._groups.append(group)
            self.read_script(")", command.operator)
            self._groups.pop()
            after = self._new_command(command.piped_from, command.operator)
            self._close(group)
            return after
        command.runs_aside |= operator in ("|", "|&", "&")
        if operator in ("|", "|&"):
            return self._new_command(self._as_source(command), operator)
        if operator == "\n":
            self._read_here_documents()
        following = self._new_command(None, operator)
        if operator in (";;", ";;&", ";&") and self._groups and self._groups[-1].is_case:
            self._read_case_pattern()
        return following

    # Groups

    def _after_keyword(self, command: SimpleCommand, word: str, base: int) -> SimpleCommand:
        """Return the command that the elements after `word` belong to, which may be a keyword."""
        if word in tokens.OPENING_KEYWORDS:
            if len(self._groups) < _MAX_DEPTH:
                self._groups.append(Group(len(self._result.commands) - 1, command.piped_from))
            if word == "case":
                self._read_case_subject(command)
                return self._new_command(None)
            self._expects_keyword = word not in ("for", "select")
        elif word in tokens.CLOSING_KEYWORDS:
            if len(self._groups) > base:
                self._close(self._groups.pop())
            self._expects_keyword = False
        else:
            self._expects_keyword = word in tokens.INNER_KEYWORDS
        return command

    def _close(self, group: Group) -> None:
        group.last = len(self._result.commands)
        self._closed_group = group
        self._expects_keyword = False

    def _read_case_subject(self, command: SimpleCommand) -> None:
        self._skip_lines()
        subject = self._read_word()
        self._skip_lines()
        if self._match(tokens.KEYWORD_IN):
            if self._groups:
                self._groups[-1].is_case = True
            self._read_case_pattern()
        else:
            command.words.append(subject)

    def _read_case_pattern(self) -> None:
        """Read the patterns before the commands of a case. They are reported only if no bracket ends them."""
        self._skip_lines()
        start, depth, words = self._position, 0, list[str]()
        self._position += self._text.startswith("(", start)
        while self._position < len(self._text):
            if self._match(tokens.BLANK):
                continue
            operator = self._match(tokens.PATTERN_OPERATOR)
            if operator is None:
                if self._text[self._position] in ";&\n<>":
                    break
                words.append(self._read_word())
                if words == ["esac"] and self._text[start : self._position] == "esac":
                    self._position = start
                    return
            elif operator[0] == ")" and depth == 0:
                return
            else:
                depth += {"(": 1, ")": -1, "|": 0}[operator[0]]
        if words:
            self._result.commands.append(SimpleCommand(words))

    def _skip_lines(self) -> None:
        while self._match(tokens.BLANK) or self._text.startswith("\n", self._position):
            if self._text.startswith("\n", self._position):
                self._position += 1
                self._read_here_documents()

    def _as_source(self, command: SimpleCommand) -> SimpleCommand:
        """Return what the next command of a pipe reads: `command`, or all commands of the group that it ends.

        All arguments are one word, so that many readers share one text.
        """
        group, self._closed_group = self._closed_group, None
        members = [*self._result.commands[group.first : group.last], command] if group else [command]
        arguments = "\n".join(filter(None, map(_arguments, members)))
        source = SimpleCommand(
            words=["(" if group else "".join(command.words[:1]), arguments.replace("\\n", "\n")],
            text="".join(member.text for member in members),
            piped_from=command.piped_from,
        )
        for member in members:
            for document in self._documents_by_reader.get(id(member), ()):
                document.readers.append(source)
        return source

    # Redirections

    def _read_redirection(self, command: SimpleCommand, operator: str) -> None:
        start = self._position
        target = self._read_word()
        if operator in ("<<", "<<-"):
            raw = self._text[start : self._position]
            end = re.sub(r"[\"'\\]", "", raw) if SUBSTITUTION_MARK in target else target  # it is not substituted
            document = HereDocument([command], end, raw != target, operator == "<<-")
            self._here_documents.append(document)
            self._documents_by_reader.setdefault(id(command), []).append(document)
        elif operator == "<<<":
            command.text += target
        elif operator == "<":
            command.reads.append(target)
        elif ">" in operator and not (operator == ">&" and (target.isdigit() or target == "-")):
            self._record(command).writes.append(target)
            command.overwrites += [target] if operator in (">", ">|", ">&") else []
        group = self._closed_group
        if operator.startswith("<<") and group and not group.has_text:
            group.has_text = True
            for member in self._result.commands[group.first : group.last]:
                if member is not command:
                    member.piped_from = member.piped_from or command

    def _record(self, command: SimpleCommand) -> SimpleCommand:
        if not command.words and not command.writes:
            command.scope, command.is_conditional = self._scope, len(self._groups) > self._outer_groups
            self._result.commands.append(command)
        return command

    def _read_here_documents(self) -> None:
        documents, self._here_documents = self._here_documents, []
        for document in documents:
            start, end = self._position, self._skip_here_document(document)
            after = self._position
            for reader in document.readers:
                reader.text += self._text[start:end]
                self._documents_by_reader.pop(id(reader), None)
            if not document.is_literal:
                self._position = start
                while self._position < end and (token := self._match(tokens.IN_HERE_DOCUMENT, end)):
                    self._token_text(token)
            self._position = max(self._position, after)

    def _skip_here_document(self, document: HereDocument) -> int:
        """Go to the end of the last line of a here-document. Return where that line begins."""
        line_start, line = self._position, ""
        while self._position < len(self._text):
            newline = self._text.find("\n", self._position)
            end = newline if newline >= 0 else len(self._text)
            line += self._text[self._position : end]
            self._position = end
            is_continued = not document.is_literal and (len(line) - len(line.rstrip("\\"))) % 2 == 1
            if is_continued and newline >= 0:
                line = line[:-1] if len(line) <= len(document.end) + 100 else "…"  # too long for the last line
            elif (line.lstrip("\t") if document.is_indented else line) == document.end:
                return line_start
            else:
                line_start, line = end + 1, ""
            if newline >= 0:
                self._position += 1
        return len(self._text)

    # Words

    def _read_word(self, command: SimpleCommand | None = None) -> str:
        parts: list[str] = []
        start = self._position
        while token := self._match(tokens.WORD):
            parts.append(self._token_text(token))
            if command and token[0].endswith("=") and self._text.startswith("(", self._position):
                break  # an array
        if self._position == start:  # a character that no token matches
            self._position += 1
        return "".join(parts)

    def _token_text(self, token: re.Match[str], *, is_quoted: bool = False) -> str:
        """Return the text of a token, after reading the construct that it opens."""
        match token.lastgroup:
            case "arithmetic":
                return self._read_arithmetic(token)
            case "command":
                self._read_substitution()
                return SUBSTITUTION_MARK
            case "backtick":
                self._read_backticks(is_quoted=is_quoted)
                return SUBSTITUTION_MARK
            case "expansion":
                return f"${{{self._read_expansion('}')}"
            case "quote":
                return self._read_quoted()
            case "escaped":
                return tokens.unescape(token["escaped"])
            case "open":
                return self._abort()
            case group:
                return token[group or 0]

    def _read_substitution(self) -> None:
        """Read the commands of $(…) with here-documents of their own."""
        state = self._here_documents, self._groups, self._closed_group, self._expects_keyword
        self._here_documents, self._groups = [], []
        self.read_script(")")
        self._here_documents = [*state[0], *self._here_documents]
        _, self._groups, self._closed_group, self._expects_keyword = state

    def _read_arithmetic(self, token: re.Match[str]) -> str:
        if token[0] == "$[":
            self._read_expansion("]")
        elif end := self._end_of_arithmetic(self._position - 1):
            self._read_expansions_until(end)
        else:
            self._position -= 1
            self._read_substitution()
            return SUBSTITUTION_MARK
        return _ARITHMETIC_MARK

    def _end_of_arithmetic(self, start: int) -> int:
        """Return the end of the arithmetic whose second bracket is at `start`; 0 if it may be commands."""
        depth, position = 0, start
        while token := tokens.IN_ARITHMETIC.match(self._text, position):
            position = token.end()
            if "case" in token[0]:
                return 0
            depth += {"(": 1, ")": -1}.get(token[0], 0)
            if depth == 0:
                return position + 1 if self._text.startswith(")", position) else 0
        return 0

    def _read_expansions_until(self, end: int) -> None:
        while self._position < end and (token := self._match(tokens.IN_HERE_DOCUMENT, end)):
            self._token_text(token)
        self._position = max(self._position, end)

    def _read_backticks(self, *, is_quoted: bool) -> None:
        """Read the commands between backticks, which have one more level of backslashes."""
        content = self._match(tokens.BACKTICKS)
        if content is None or not content[2]:
            self._result.is_complete = False
        if content and self._depth < _MAX_DEPTH:
            self._read_unescaped(
                content, tokens.ESCAPED_IN_QUOTED_BACKTICKS if is_quoted else tokens.ESCAPED_IN_BACKTICKS
            )
        else:
            self._abort()

    def _read_unescaped(self, content: re.Match[str], escape: re.Pattern[str]) -> None:
        """Read the first group of `content` as commands, without the backslashes that `escape` finds."""
        outer = (
            self._text,
            self._position,
            self._here_documents,
            self._groups,
            self._closed_group,
            self._expects_keyword,
        )
        self._text, self._position = escape.sub(r"\1", content[1]), 0
        self._here_documents, self._groups = [], []
        self.read_script("")
        self._text, self._position, self._here_documents, self._groups, self._closed_group, self._expects_keyword = (
            outer
        )

    def _read_quoted(self) -> str:
        parts: list[str] = []
        while token := self._match(tokens.IN_QUOTES):
            if token.lastgroup == "end":
                return "".join(parts)
            parts.append(self._token_text(token, is_quoted=True))
        return self._abort()

    def _read_expansion(self, closer: str) -> str:
        """Read up to `closer`, and return the text with it."""
        if self._depth >= _MAX_DEPTH:
            return self._abort()
        self._depth += 1
        parts: list[str] = []
        while (token := self._match(tokens.IN_EXPANSION)) and token[0] != closer:
            parts.append(self._token_text(token))
        self._depth -= 1
        return "".join([*parts, closer]) if token else self._abort()

    def _abort(self) -> str:
        self._result.is_complete = False
        self._position = len(self._text)
        return ""

    def _match(self, pattern: re.Pattern[str], end: int = END) -> re.Match[str] | None:
        if match := pattern.match(self._text, self._position, end):
            self._position = match.end()
        return match

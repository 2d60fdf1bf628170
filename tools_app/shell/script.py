"""A parsed shell text: its simple commands."""

from dataclasses import dataclass, field

SUBSTITUTION_MARK = "$(…)"  # stands for the output of another command within a word


@dataclass
class SimpleCommand:
    """A command: its words without quotes, the files it reads and writes, and the text of its here-documents.

    `overwrites` are the files among `writes` that lose their content. `scope` numbers the subshells around the command.
    `operator` precedes it. A conditional command belongs to a loop, a branch or a function. A command that `runs_aside`
    (in a pipe or the background) changes neither folder nor variables of its shell.
    """

    words: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    overwrites: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    text: str = ""
    piped_from: "SimpleCommand | None" = None
    scope: tuple[int, ...] = ()
    operator: str = ""
    is_conditional: bool = False
    runs_aside: bool = False
    is_definition: bool = False


@dataclass
class ParsedScript:
    """The commands of a text. `is_complete` is False if a quote or bracket is unclosed: commands may be missing."""

    commands: list[SimpleCommand] = field(default_factory=list)
    is_complete: bool = True


@dataclass(frozen=True)
class HereDocument:
    """A here-document whose lines follow. `end` is its last line."""

    readers: list[SimpleCommand]
    end: str
    is_literal: bool
    is_indented: bool


@dataclass
class Group:
    """A subshell or compound command. All its commands read the group's input, and write to its output."""

    first: int  # index of its first command in the result
    source: SimpleCommand | None
    is_case: bool = False
    last: int = 0
    has_text: bool = False  # its commands know where they read its here-documents

"""A parsed shell text: its simple commands."""

from dataclasses import dataclass, field

SUBSTITUTION_MARK = "$(…)"  # stands for the output of another command within a word


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

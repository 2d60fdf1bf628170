"""What can be wrong in a configuration file, each with its line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

Location = Sequence[str | int]


@dataclass(frozen=True, order=True)
class Mistake:
    line: int
    text: str


class ConfigurationError(Exception):
    """The configuration file has mistakes. The message lists them all, with file and line, and no value of the file."""

    def __init__(self, path: Path, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = sorted(set(mistakes))
        found = "a mistake" if len(self.mistakes) == 1 else f"{len(self.mistakes)} mistakes"
        lines = [f"  {path}:{mistake.line}: {mistake.text}" for mistake in self.mistakes]
        super().__init__("\n".join([f"The configuration file has {found}. Nothing was changed.", *lines]))


def words(location: Location) -> str:
    """`("providers", 0, "name")` as a person writes it: `providers[0].name`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).lstrip(".")

"""Options and operands among the arguments of a command."""

from collections.abc import Iterator, Sequence


def has_option(arguments: Sequence[str], letter: str, long: str = "") -> bool:
    """Return whether an option is present, possibly in a cluster (-xdf) or shortened (--rec), as getopt_long allows."""
    for word in arguments:
        if word.startswith("--"):
            if long and len(word) > 2 and long.startswith(word.partition("=")[0]):
                return True
        elif letter and word.startswith("-") and letter in word:
            return True
    return False


def operands(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that are no options. After `--`, all are operands."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [word for word in arguments[:end] if not word.startswith("-") or word == "-"] + list(arguments[end + 1 :])


def option_values(arguments: Sequence[str], *names: str) -> Iterator[str]:
    """Yield the values of options: the next word, or the rest of the same word."""
    for index, word in enumerate(arguments):
        for name in names if word.startswith("-") else ():
            is_last = len(name) == 2 and word[1:2] != "-" and word.endswith(name[1])  # of a cluster
            if word == name or is_last:
                yield from arguments[index + 1 : index + 2]
            elif name.startswith("--") and word.startswith(f"{name}="):
                yield word[len(name) + 1 :]
            elif not name.startswith("--") and len(word) > 2 and word.startswith(name):
                yield word[2:]

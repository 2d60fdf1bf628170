"""Figures of the project's English and of its shape, counted by `ast`.

    python -m tests.english                 print the figures
    python -m tests.english --faults PATH…  list the texts below these paths with a banned opening or word
    python -m tests.english --helpers PATH… list private helpers below these paths that are used once and have three lines or less
    python -m tests.english --check         exit 1 if a text has one, or a class name repeats (part of `make lint`)

CONTRIBUTING.md has the rules.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("agentsite", "tasks_app", "tools_app", "llm_app")
EVERYWHERE = (*PACKAGES, "tests", "benchmarks")
REPEATED_CLASSES = {"Command", "DatabaseWrapper"}  # names that Django asks for

OPENINGS = re.compile(
    r"(what|who|whoever|whose|where|whether|which|of|those|as|for|with|also|everything|nobody|it)\b", re.IGNORECASE
)
WORDS = re.compile(
    r"\b(whoever|anew|meanwhile|by then|beside|as it were|of its own|laid down|mends?|mended|is told|are told)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Text:
    """A docstring or comment and its position."""

    file: Path
    line: int
    words: str
    is_docstring: bool

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} {self.words.strip().splitlines()[0][:100]}"


@cache
def sources(*folders: str) -> tuple[Path, ...]:
    """Return the Python files of the folders, without migrations."""
    return tuple(
        file
        for folder in folders
        for file in sorted((ROOT / folder).rglob("*.py"))
        if "migrations" not in file.parts and "__pycache__" not in file.parts
    )


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def texts(file: Path) -> Iterator[Text]:
    """Yield the docstrings and comments of a file."""
    for node in ast.walk(tree(file)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if words := ast.get_docstring(node):
            yield Text(file=file, line=node.body[0].lineno, words=words, is_docstring=True)
    for token in tokenize.generate_tokens(io.StringIO(file.read_text()).readline):
        if token.type == tokenize.COMMENT:
            yield Text(file=file, line=token.start[0], words=token.string.lstrip("#: "), is_docstring=False)


def faults(file: Path) -> list[Text]:
    """Return the docstrings with a banned opening, and the texts with a banned word."""
    return [
        text for text in texts(file) if (text.is_docstring and OPENINGS.match(text.words)) or WORDS.search(text.words)
    ]


def faults_below(paths: Iterable[str]) -> list[Text]:
    """Return the faults of the files at these paths and below them."""
    files = {file for path in paths for file in (sources(path) or (ROOT / path,))}
    return [text for file in sorted(files) for text in faults(file)]


def repeated_classes() -> dict[str, list[str]]:
    """Return class names that more than one module defines, with these modules."""
    modules = defaultdict(list)
    for file in sources(*PACKAGES):
        for node in tree(file).body:
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(str(file.relative_to(ROOT)))
    return {name: files for name, files in sorted(modules.items()) if len(files) > 1}


def functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of a file."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def single_use_helpers(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield private functions that their own file uses once."""
    uses = Counter(node.id for node in ast.walk(tree(file)) if isinstance(node, ast.Name))
    uses.update(node.attr for node in ast.walk(tree(file)) if isinstance(node, ast.Attribute))
    for function in functions(file):
        is_private = function.name.startswith("_") and not function.name.startswith("__")
        if is_private and uses[function.name] == 1 and not function.decorator_list:
            yield function


def short_helpers_below(paths: Iterable[str]) -> Iterator[str]:
    """Yield positions and names of the single-use helpers with a body of three lines or less."""
    for file in sorted({file for path in paths for file in (sources(path) or (ROOT / path,))}):
        for function in single_use_helpers(file):
            body = function.body[bool(ast.get_docstring(function)) :] or function.body
            if (body[-1].end_lineno or 0) - body[0].lineno < 3:
                yield f"{file.relative_to(ROOT)}:{function.lineno} {function.name}"


def figures() -> dict[str, float]:
    """Return the figures by name, in the order in which they are printed."""
    code = sources(*PACKAGES)
    lines = {file: len(file.read_text().splitlines()) for file in code}
    everything = [text for file in sources(*EVERYWHERE) for text in texts(file)]
    docstrings = [text for text in everything if text.is_docstring]
    words = re.findall(r"[A-Za-z'’]+", " ".join(text.words for text in everything))
    imports = sum(
        1
        for file in code
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Import | ast.ImportFrom) and _is_ours(node)
    )
    once = sum(1 for file in code for _ in single_use_helpers(file))
    all_functions = sum(1 for file in code for _ in functions(file))
    templates = [line for file in (ROOT / "templates").rglob("*.html") for line in file.read_text().splitlines()]
    return {
        "modules": sum(1 for count in lines.values() if count),
        "lines": sum(lines.values()),
        "longest file": max(lines.values()),
        "imports per 1,000 lines": round(1000 * imports / sum(lines.values()), 1),
        "single-use private helpers, %": round(100 * once / all_functions, 1),
        "docstrings": len(docstrings),
        "docstrings with a banned opening": sum(1 for text in docstrings if OPENINGS.match(text.words)),
        "texts with a banned word": sum(1 for text in everything if WORDS.search(text.words)),
        "“what” per 10,000 words": round(10000 * sum(word.lower() == "what" for word in words) / len(words), 1),
        "class names defined twice": len(repeated_classes()),
        "template lines over 200 characters": sum(len(line) > 200 for line in templates),
        "migrations": sum(1 for app in PACKAGES for file in (ROOT / app).rglob("migrations/0*.py") if file.is_file()),
    }


def _is_ours(node: ast.Import | ast.ImportFrom) -> bool:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return any(name.partition(".")[0] in PACKAGES for name in names)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--check"]:
            problems = [f"{text}" for text in faults_below(EVERYWHERE)]
            problems += [
                f"{name}: {files}" for name, files in repeated_classes().items() if name not in REPEATED_CLASSES
            ]
            sys.exit("\n".join(["English or names that CONTRIBUTING.md replaces:", *problems]) if problems else 0)
        case ["--faults", *paths]:
            print(*faults_below(paths), sep="\n")
        case ["--helpers", *paths]:
            print(*short_helpers_below(paths), sep="\n")
        case _:
            for name, value in figures().items():
                print(f"{name:40} {value:>10,}")

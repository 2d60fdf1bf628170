"""Four figures say whether a stranger finds what he reads for; they may get better, not worse.

python -m tests.test_figures_of_the_tree   prints them, and the modules with one user
"""

import ast
import statistics
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("agentsite", "tasks_app", "tools_app", "llm_app")


@cache
def modules() -> dict[str, Path]:
    """Every module of the product that has a line in it, without migrations."""
    files = (file for package in PACKAGES for file in (ROOT / package).rglob("*.py") if "migrations" not in file.parts)
    return {_name(file): file for file in sorted(files) if file.read_text().strip()}


def _name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def lines(file: Path) -> int:
    return len(file.read_text().splitlines())


def imported(file: Path) -> Iterator[str]:
    """The modules of the product that a file imports; a name that is no module stands for the one it is in."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found = {name if name in modules() else node.module for name in names}
            yield from found & modules().keys()


@cache
def users() -> dict[str, set[str]]:
    """The modules that import each module."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, file in modules().items():
        for other in set(imported(file)) - {name}:
            found[other].add(name)
    return found


def with_one_user() -> list[str]:
    """Packages' faces do not count: what they gather has many users through them."""
    return [name for name, file in modules().items() if file.name != "__init__.py" and len(users()[name]) == 1]


def imports_in_1000_lines() -> float:
    """Statements that import from the product itself."""
    statements = (node for file in modules().values() for node in ast.walk(ast.parse(file.read_text())))
    ours = sum(_is_ours(node) for node in statements)
    return 1000 * ours / sum(map(lines, modules().values()))


def _is_ours(node: ast.AST) -> bool:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
    return any(name.partition(".")[0] in PACKAGES for name in names)


def figures() -> dict[str, float]:
    sizes = list(map(lines, modules().values()))
    return {
        "modules": len(sizes),
        "with one user, %": 100 * len(with_one_user()) / len(sizes),
        "imports in 1,000 lines": imports_in_1000_lines(),
        "lines, median": statistics.median(sizes),
        "lines, most": max(sizes),
    }


if __name__ == "__main__":
    for figure, value in figures().items():
        print(f"{figure:24} {value:6.1f}")
    for one in with_one_user():
        print(f"{lines(modules()[one]):4}  {one}  <-  {next(iter(users()[one]))}")

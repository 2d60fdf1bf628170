"""Tests that hold three figures of the source tree: they show how many files a reader has to open.

python -m tests.test_figures_of_the_tree   prints them, and the modules with one user
"""

import ast
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("agentsite", "tasks_app", "tools_app", "llm_app")
# The present figures, rounded up. Lower a bound after an improvement.
MOST_WITH_ONE_USER = 24  # per cent of the modules
MOST_IMPORTS = 41  # in 1,000 lines
MOST_LINES = 400


@cache
def modules() -> dict[str, Path]:
    """Return every module of the product that contains a line, without migrations."""
    files = (file for package in PACKAGES for file in (ROOT / package).rglob("*.py") if "migrations" not in file.parts)
    return {_name(file): file for file in sorted(files) if file.read_text().strip()}


def _name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def lines(file: Path) -> int:
    return len(file.read_text().splitlines())


def imported(file: Path) -> Iterator[str]:
    """Yield the modules of the product that a file imports. A re-exported name counts as an import of its
    definition.
    """
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in (f"{node.module}.{alias.name}" for alias in node.names):
                yield name if name in modules() else exported().get(name, node.module)


@cache
def exported() -> dict[str, str]:
    """Return the names in `__all__` of packages, and the modules that define them."""
    found = {}
    for package, file in modules().items():
        tree = ast.parse(file.read_text()).body if file.name == "__init__.py" else []
        assigned = [node for node in tree if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"]
        names = {name for node in assigned for name in ast.literal_eval(node.value)}
        for node in tree:
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {f"{package}.{alias.name}": node.module for alias in node.names if alias.name in names}
    return found


@cache
def users() -> dict[str, set[str]]:
    """Return the modules that import each module, without packages that only re-export its names."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, file in modules().items():
        passed_on = {module for exported_name, module in exported().items() if exported_name.startswith(f"{name}.")}
        for other in set(imported(file)) & modules().keys() - {name} - passed_on:
            found[other].add(name)
    return found


def with_one_user() -> list[str]:
    return [name for name, file in modules().items() if file.name != "__init__.py" and len(users()[name]) == 1]


def imports_in_1000_lines() -> float:
    """Return the import statements from the product, per 1,000 lines."""
    ours = sum(len(_imports(file)) for file in modules().values())
    return 1000 * ours / sum(map(lines, modules().values()))


@cache
def _imports(file: Path) -> list[ast.AST]:
    return [node for node in ast.walk(ast.parse(file.read_text())) if _is_ours(node)]


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


def test_few_modules_have_one_user() -> None:
    """Such a module belongs into its user, unless it is a table, an independent library, or both are long."""
    small = sorted((_together(name), name, next(iter(users()[name]))) for name in with_one_user())
    listing = "\n".join(f"{size:4} lines with its user: {name}  <-  {user}" for size, name, user in small[:20])
    share = figures()["with one user, %"]
    assert share <= MOST_WITH_ONE_USER, (
        f"{share:.1f} % of the modules have one user, and {MOST_WITH_ONE_USER} % may. "
        f"The first to become part of their users:\n{listing}"
    )


def _together(name: str) -> int:
    return lines(modules()[name]) + lines(modules()[next(iter(users()[name]))])


def test_modules_import_little_from_each_other() -> None:
    share = imports_in_1000_lines()
    by_imports = sorted(((len(_imports(file)), name) for name, file in modules().items()), reverse=True)
    listing = "\n".join(f"{count:4} imports: {name}" for count, name in by_imports[:20])
    assert share <= MOST_IMPORTS, (
        f"{share:.1f} statements in 1,000 lines import from the product, and {MOST_IMPORTS} may. The most:\n{listing}"
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_is_long(package: str) -> None:
    sizes = {name: lines(file) for name, file in modules().items() if name.partition(".")[0] == package}
    long = {name: size for name, size in sizes.items() if size > MOST_LINES}
    assert not long, f"over {MOST_LINES} lines: {long}"


def test_figures_are_printed(record_property: Callable[[str, object], None]) -> None:
    told = ", ".join(f"{name} {value:.1f}" for name, value in figures().items())
    record_property("closing line", f"The tree: {told}")


if __name__ == "__main__":
    for figure, value in figures().items():
        print(f"{figure:24} {value:6.1f}")
    for one in with_one_user():
        print(f"{lines(modules()[one]):4}  {one}  <-  {next(iter(users()[one]))}")

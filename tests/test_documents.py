"""Tests that documents match the source tree: named files, packages of the map, words of the glossary."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.server import ROOT

APPS = ("agentsite", "tasks_app", "tools_app", "llm_app")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
_PATH = re.compile(r"`((?:agentsite|tasks_app|tools_app|llm_app|tests|templates|docs|static)/[\w./-]*)`")
_LINK = re.compile(r"\]\((?!https?:)([\w./-]+)(?:#[\w-]*)?\)")
_DOTTED = re.compile(r"`((?:agentsite|tasks_app|tools_app|llm_app)(?:\.\w+)+)`")
_NO_MODULE = re.compile(r"agentsite\.(?:[EW]\d+|hooks|tools|protocols)")  # ids of checks, and groups of entry points


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_named_in_documents_exist(document: Path) -> None:
    text = document.read_text()
    missing = {path for path in _PATH.findall(text) if "NAME" not in path and not (ROOT / path).exists()}
    missing |= {path for path in _LINK.findall(text) if not (document.parent / path).exists()}
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_modules_named_in_documents_exist(document: Path) -> None:
    names = {name for name in _DOTTED.findall(document.read_text()) if not _NO_MODULE.fullmatch(name)}
    assert not {name for name in names if not _exists(name)}


def test_names_in_the_guide_are_in_the_files_of_their_line() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for step in re.findall(r"^\d\. (.*(?:\n   .*)*)", text, re.MULTILINE):
        paths = [ROOT / path for path in _PATH.findall(step) if (ROOT / path).is_file()]
        names = re.findall(r"`@?([A-Z_]\w+|[a-z]+_\w+)`", step)
        inside = "".join(path.read_text() for path in paths)
        assert not [name for name in names if paths and name not in inside and not name.startswith("WRITE")], step


def _exists(dotted: str) -> bool:
    """Return whether it is a module, a package, or a name in one."""
    path = ROOT.joinpath(*dotted.split("."))
    if path.with_suffix(".py").exists() or path.is_dir():
        return True
    module = path.parent.with_suffix(".py") if path.parent.with_suffix(".py").exists() else path.parent / "__init__.py"
    return module.exists() and path.name in _names(module)


def _names(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    return {node.name for node in tree.body if hasattr(node, "name")} | {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }


def packages() -> set[str]:
    """Return each package of the apps that contains code, as a path."""
    files = (file for app in APPS for file in (ROOT / app).rglob("*.py") if "migrations" not in file.parts)
    folders = {file.parent for file in files if file.read_text().strip()}
    return {str(folder.relative_to(ROOT)) for folder in folders if folder.parent != ROOT and folder.name != "commands"}


def test_map_lists_exactly_the_packages() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| `([\w/]+)/` \|", text, re.MULTILINE)
    assert sorted(rows) == sorted(packages())


# --- the glossary ---------------------------------------------------------------------------------------------------


def glossary() -> list[tuple[str, list[str]]]:
    """Return each word with the words that it replaces."""
    rows = re.findall(r"^\| \*\*(.*?)\*\* \|.*\|(.*?)\|$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    return [(term, re.findall(r"`(\w+)`", instead)) for term, instead in rows]


@cache
def identifiers() -> frozenset[str]:
    """Return the words in the names of modules, classes, functions, arguments and variables."""
    names: set[str] = set()
    for file in (file for app in APPS for file in (ROOT / app).rglob("*.py") if "migrations" not in file.parts):
        names.update(file.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(file.read_text())):
            names.update(getattr(node, field, "") or "" for field in ("name", "id", "arg", "attr"))
    return frozenset(word for name in names if isinstance(name, str) for word in _words(name))


def _words(name: str) -> list[str]:
    """Split a name: `BudgetLimit_x` → budget, limit, x; and the complete name."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")
    return [*parts, name]


def test_glossary_words_occur_in_the_code() -> None:
    terms = [word for term, _ in glossary() for word in re.findall(r"\w+", term.lower())]
    assert len(terms) > 30
    assert not set(terms) - identifiers()


def test_replaced_words_do_not_occur_in_the_code() -> None:
    replaced = {word for _, instead in glossary() for word in instead}
    assert len(replaced) > 8
    assert not replaced & identifiers()

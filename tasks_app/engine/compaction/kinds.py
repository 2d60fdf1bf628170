"""What kind of text something is: by its file's name, else by how it begins."""

import re

from pygments.lexers import find_lexer_class_for_filename

_BEGINNINGS = [
    (re.compile(r"\s*(<!doctype html|<html)", re.IGNORECASE), "HTML"),
    (re.compile(r"\s*<\?xml"), "XML"),
    (re.compile(r"(diff --git |--- \S)"), "Diff"),
    (re.compile(r"#!.*\bpython"), "Python"),
    (re.compile(r"#!.*sh\b"), "Bash"),
    (re.compile(r"\s*[\[{]\s*[\"{\[\]}\d-]"), "JSON"),
]


def kind_of(path: str, content: str) -> str:
    """Such as "Go" or "JSON"; "text" where nothing tells more."""
    found = find_lexer_class_for_filename(path.rsplit("/", 1)[-1]) if "." in path else None
    if found is not None:
        return "text" if found.name == "Text only" else str(found.name)
    return next((kind for beginning, kind in _BEGINNINGS if beginning.match(content)), "text")

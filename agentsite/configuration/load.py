"""From a file to a checked configuration; or all its mistakes at once."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agentsite.configuration import references
from agentsite.configuration.document import Document
from agentsite.configuration.mistakes import ConfigurationError, Location, Mistake, words
from agentsite.configuration.schema import Configuration


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """`content` is one text for all that the file says, whatever its layout and comments."""

    path: Path
    configuration: Configuration
    content: str


def load(path: Path, environment: Mapping[str, str] = os.environ) -> Loaded:
    """Reads and checks a file, also against the providers and roles that exist. Raises ConfigurationError."""
    document = Document(_text(path), environment)
    configuration: Configuration | None = None
    mistakes = list(document.mistakes)
    wrong = list(references.check(document.data, references.Known.here()))
    try:
        configuration = Configuration.model_validate({} if document.data is None else document.data)
    except ValidationError as error:
        wrong += _in_words(error)
    mistakes += [Mistake(document.line_of(at), f"{words(at)}: {text}" if at else text) for at, text in wrong]
    if mistakes or configuration is None:
        raise ConfigurationError(path, mistakes)
    return Loaded(path=path, configuration=configuration, content=json.dumps(document.data, sort_keys=True))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(path, [Mistake(1, f"cannot be read: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(path, [Mistake(1, "is not a text in UTF-8")]) from error


def _in_words(error: ValidationError) -> Iterator[tuple[Location, str]]:
    for detail in error.errors(include_input=False, include_url=False):
        yield detail["loc"], _sentence(detail["type"], detail["msg"])


def _sentence(kind: str, message: str) -> str:
    fixed: dict[str, Any] = {
        "extra_forbidden": "there is no such key",
        "missing": "is missing",
        "model_type": "should be a mapping",
        "model_attributes_type": "should be a mapping",
    }
    return str(fixed.get(kind, message.removeprefix("Value error, ").removeprefix("Input ")))

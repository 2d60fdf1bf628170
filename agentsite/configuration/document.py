"""A YAML file as data, with `${NAME}` replaced from the environment, and its mistakes with their lines."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_VARIABLE = re.compile(r"\$\{(\w+)\}", re.ASCII)
# While YAML is parsed, a variable's name is between two characters of the private use area. The braces of `${NAME}`
# would end plain text inside `{…}`, and a value inserted before parsing could change the structure of the file.
_MARKED_VARIABLE = re.compile("\ue000(\\w+)\ue001", re.ASCII)


Location = Sequence[str | int]


@dataclass(frozen=True, order=True)
class Mistake:
    line: int
    text: str


class ConfigurationError(Exception):
    """The configuration file has mistakes. The message lists them all, with file and line, and no value of the file."""

    def __init__(self, path: Path, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = sorted(set(mistakes))
        count = "a mistake" if len(self.mistakes) == 1 else f"{len(self.mistakes)} mistakes"
        lines = [f"  {path}:{mistake.line}: {mistake.text}" for mistake in self.mistakes]
        super().__init__("\n".join([f"The configuration file has {count}. Nothing was changed.", *lines]))


def location_text(location: Location) -> str:
    """Return a location such as `("providers", 0, "name")` in the form `providers[0].name`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).lstrip(".")


class _Loader(yaml.SafeLoader):
    """A safe loader that reads dates as text."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class YamlDocument:
    """A parsed file: its `data`, and its `mistakes` as YAML. Invalid YAML raises nothing."""

    def __init__(self, text: str, environment: Mapping[str, str]) -> None:
        self.data: Any = {}
        self.mistakes: list[Mistake] = []
        self._environment = environment
        self._root: yaml.Node | None = None
        try:
            self._read(_Loader(_VARIABLE.sub("\ue000\\1\ue001", text)))
        except yaml.MarkedYAMLError as error:
            self._add_mistake(error.problem_mark or error.context_mark, f"not valid YAML: {error.problem}")
        except (yaml.reader.ReaderError, ValueError) as error:
            self._add_mistake(None, f"not valid YAML: {getattr(error, 'reason', error)}")

    def line_of(self, location: Location) -> int:
        """Return the line of a part or, if the part is missing, of its container."""
        node, line = self._root, 1
        for part in location:
            child = _child(node, part)
            if child is None:
                break
            mark, node = child
            line = _line(mark)
        return line

    def _add_mistake(self, mark: yaml.Mark | None, text: str) -> None:
        self.mistakes.append(Mistake(_line(mark), text))

    def _read(self, loader: _Loader) -> None:
        self._root = loader.get_single_node()
        if self._root is None:
            return
        for node in _nodes(self._root, set()):
            if isinstance(node, yaml.MappingNode):
                self._check_repeated_keys(node)
            elif isinstance(node, yaml.ScalarNode):
                self._replace_variables(node)
        self.data = loader.construct_document(self._root)

    def _check_repeated_keys(self, node: yaml.MappingNode) -> None:
        keys = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in keys:
                self._add_mistake(key.start_mark, f"the key {key.value!r} appears twice")
            keys.add(key.value)

    def _replace_variables(self, node: yaml.ScalarNode) -> None:
        if "${" in node.value:
            self._add_mistake(node.start_mark, "only ${NAME} is replaced: letters, digits and _ in braces")
        for name in _MARKED_VARIABLE.findall(node.value):
            if name not in self._environment:
                self._add_mistake(node.start_mark, f"${{{name}}} is not set in the environment")
        node.value = _MARKED_VARIABLE.sub(lambda match: self._environment.get(match[1], f"${{{match[1]}}}"), node.value)


def _nodes(node: yaml.Node, visited: set[int]) -> Iterator[yaml.Node]:
    """Yield every node once: an anchor may be used in many places."""
    if id(node) in visited:
        return
    visited.add(id(node))
    yield node
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            for child in pair:
                yield from _nodes(child, visited)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _nodes(child, visited)


def _child(node: yaml.Node | None, part: str | int) -> tuple[yaml.Mark, yaml.Node] | None:
    """Return the start of a part and its node, or None."""
    if isinstance(node, yaml.MappingNode):
        return next(((key.start_mark, value) for key, value in node.value if key.value == str(part)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark, node.value[part]
    return None


def _line(mark: yaml.Mark | None) -> int:
    return mark.line + 1 if mark else 1

"""The project's regular expressions, read from its source, and hostile texts for each of them."""

import ast
import importlib
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from re import _compiler, _constants, _parser
from typing import Any

ROOT = Path(__file__).parents[2]
APPS = ("agentsite", "llm_app", "tasks_app", "tools_app")
_GO_ON = ("sub", "subn", "split", "findall", "finditer")  # follows a match
_METHODS = ("match", "fullmatch", "search", *_GO_ON)
_DJANGO = ("RegexValidator", "RegexField", "re_path")
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_LONG = 20  # repetitions; fewer do not count as a loop
_MOST_PREFIXES = 3
_MOST_SAMPLES = 6
_MOST_LITERALS = 10


@dataclass(frozen=True, kw_only=True)
class SourcePattern:
    """A pattern of a module: its name or expression, and the methods used with it.

    `text` is None where the expression depends on local values.
    """

    path: str
    expression: str
    methods: frozenset[str]
    text: str | bytes | None
    flags: int = 0

    @property
    def place(self) -> str:
        return f"{self.path}: {self.expression}"

    def uses(self) -> Iterator[tuple[str, Callable[[Any], object]]]:
        """Return one use for each kind: at the start, anywhere, everywhere."""
        assert self.text is not None
        pattern = re.compile(self.text, self.flags)
        nothing: Any = self.text[:0]
        for method in ("match", "fullmatch", "search"):
            if method in self.methods:
                yield method, getattr(pattern, method)
        if not self.methods.isdisjoint(_GO_ON):
            yield "sub", lambda text: pattern.sub(nothing, text)


# --- reading the source --------------------------------------------------------------------------------------------


def modules() -> list[str]:
    files = (file for app in APPS for file in sorted((ROOT / app).rglob("*.py")) if "migrations" not in file.parts)
    return [str(file.relative_to(ROOT)) for file in files]


def module(path: str) -> dict[str, Any]:
    """Return the module's values by name."""
    return vars(importlib.import_module(path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")))


def patterns_of(path: str) -> Iterator[SourcePattern]:
    tree = _tree(path)
    names = {value: name for node in ast.walk(tree) if isinstance(node, ast.Assign) for name, value in _assigned(node)}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not (method := _method(call)) or not (pattern := _first_argument(call)):
            continue
        name = names.get(call, "") if method == "compile" else ""
        methods = _methods_of(tree, name) if method == "compile" else frozenset([method])
        expression = name or ast.unparse(pattern)
        try:
            text, flags = _value(pattern, path), _flags(call, path)
        except (NameError, AttributeError):
            yield SourcePattern(path=path, expression=expression, methods=methods, text=None)
            continue
        if not isinstance(text, re.Pattern):  # a compiled pattern is found at its compilation
            yield SourcePattern(path=path, expression=expression, methods=methods, text=text, flags=flags)


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def _assigned(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    target = node.targets[0]
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        yield from ((_name(one), value) for one, value in zip(target.elts, node.value.elts, strict=False))
    else:
        yield _name(target), node.value


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _method(call: ast.Call) -> str:
    """Return the method of `re`, '' for a call without a pattern."""
    function = call.func
    if isinstance(function, ast.Attribute) and _name(function.value) in ("re", "regex"):
        return function.attr if function.attr in ("compile", *_METHODS) else ""
    return "search" if _name(function) in _DJANGO else ""


def _first_argument(call: ast.Call) -> ast.expr | None:
    named = (keyword.value for keyword in call.keywords if keyword.arg in ("pattern", "regex"))
    return call.args[0] if call.args else next(named, None)


def _flags(call: ast.Call, path: str) -> int:
    places = {"compile": 1, "match": 2, "fullmatch": 2, "search": 2, "findall": 2, "finditer": 2}
    flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    flags += call.args[places[call.func.attr] :] if getattr(call.func, "attr", "") in places else []
    return int(_value(flags[0], path)) if flags else 0


def _value(expression: ast.expr, path: str) -> Any:
    return eval(compile(ast.Expression(expression), path, "eval"), module(path))


def _methods_of(tree: ast.Module, name: str) -> frozenset[str]:
    """Return the methods that a pattern is used with, or all if no use is visible."""
    trees = [tree] if name.startswith("_") else map(_tree, modules())
    methods = frozenset(
        node.attr
        for each in trees
        for node in ast.walk(each)
        if name and isinstance(node, ast.Attribute) and node.attr in _METHODS and _name(node.value) == name
    )
    return methods or frozenset(["sub"])


# --- hostile texts -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pump:
    prefix: str
    unit: str
    suffix: str

    def text(self, length: int, kind: str | bytes) -> Any:
        text = self.prefix + self.unit * (length // len(self.unit)) + self.suffix
        return text.encode() if isinstance(kind, bytes) else text


def pumps(pattern: str | bytes, flags: int) -> list[Pump]:
    """Yield long runs of text that a repetition accepts, after its prefix and before a possible end of the match.

    The prefix is repeated as well, because a search restarts at each occurrence.
    """
    tree = _parser.parse(pattern, flags)
    literals = list(dict.fromkeys(_literals(tree)))
    characters = dict.fromkeys([*literals[:: 1 + len(literals) // _MOST_LITERALS], *"a0 \n!"])
    made: dict[Pump, None] = {}
    for prefix, body in _repetitions(list(tree), [""]):
        for unit in filter(None, dict.fromkeys([*_samples(body), *characters])):
            made |= dict.fromkeys(Pump(prefix, unit, suffix) for suffix in ("", *characters))
            made[Pump("", prefix + unit, "")] = made[Pump(prefix, prefix + unit, "!")] = None
    return list(made)


def _literals(tree: Any) -> Iterator[str]:
    for code, value in tree:
        if code in (_constants.LITERAL, _constants.NOT_LITERAL):
            yield chr(value)
        elif code is _constants.RANGE:
            yield chr(value[0])
        for inner in [value] if code is _constants.IN else _inner(code, value):
            yield from _literals(inner)


def _inner(code: Any, value: Any) -> Sequence[Any]:
    """Return the patterns within a part of a pattern."""
    if code in _REPEATS:
        return [value[2]]
    if code is _constants.BRANCH:
        return list(value[1])
    if code is _constants.SUBPATTERN:
        return [value[3]]
    if code in (_constants.ASSERT, _constants.ASSERT_NOT):
        return [value[1]]
    return [value] if code is _constants.ATOMIC_GROUP else []


def _repetitions(tree: Sequence[Any], prefixes: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield each repetition that may be long, with texts that lead to it."""
    for place, (code, value) in enumerate(tree):
        before = [prefix + text for prefix in prefixes for text in _samples(tree[:place])[:2]][:_MOST_PREFIXES]
        if code in _REPEATS and value[1] > _LONG:
            yield from ((prefix, value[2]) for prefix in before)
        for inner in _inner(code, value):
            yield from _repetitions(list(inner), before)


def _samples(tree: Any) -> list[str]:
    """Return some accepted texts: with and without optional parts, and one for each branch."""
    texts = [""]
    for code, value in tree:
        texts = [text + more for text, more in product(texts, _sample(code, value))][:_MOST_SAMPLES]
    return list(dict.fromkeys(texts))


def _sample(code: Any, value: Any) -> list[str]:
    if code is _constants.LITERAL:
        return [chr(value)]
    if code is _constants.NOT_LITERAL:
        return ["b" if value == ord("a") else "a"]
    if code is _constants.ANY:
        return ["a"]
    if code is _constants.IN:
        return [_member(value)]
    if code in _REPEATS:
        return [text * times for times in ((value[0],) if value[0] else (0, 1)) for text in _samples(value[2])]
    if code in (_constants.SUBPATTERN, _constants.ATOMIC_GROUP, _constants.BRANCH):
        return [text for inner in _inner(code, value) for text in _samples(inner)]
    return [""]


def _member(characters: Any) -> str:
    tree = _parser.parse("")
    tree.append((_constants.IN, characters))
    accepts = _compiler.compile(tree).fullmatch
    return next(filter(accepts, map(chr, (*range(97, 123), *range(33, 97), *range(123, 256), 32, 9, 10, 0x4E2D))), "a")


# --- measuring -----------------------------------------------------------------------------------------------------


class _TooLong(BaseException):
    pass


def _raise(*_: object) -> None:
    raise _TooLong


def seconds(use: Callable[[Any], object], text: Any, limit: float) -> float:
    """Return the CPU time of one use, which is independent of load; infinite from `limit` on."""
    before = signal.signal(signal.SIGVTALRM, _raise)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    start = time.process_time()
    try:
        use(text)
        return time.process_time() - start
    except _TooLong:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class GrowthMeter:
    """A measurement that detects superlinear uses: four times the text takes over eight times as long.

    Uses that take no longer than a use known to be linear are not measured again. A growth counts if it is seen in each
    of three rounds, because a busy machine slows single measurements down.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._harmless_s = 0.002

    def is_exceeded(self, use: Callable[[Any], object], text: Callable[[int], Any]) -> bool:
        if self._time(use, text(self._length)) <= self._harmless_s:
            return False
        return all(self._is_round_exceeded(use, text) for _ in range(_ROUNDS))

    def _is_round_exceeded(self, use: Callable[[Any], object], text: Callable[[int], Any]) -> bool:
        once = min(self._time(use, text(self._length)) for _ in range(3))
        if once <= self._harmless_s:
            return False
        if once > _LIMIT_S or min(self._time(use, text(4 * self._length)) for _ in range(3)) > 8 * once:
            return True
        self._harmless_s = 1.5 * once
        return False

    @staticmethod
    def _time(use: Callable[[Any], object], text: Any) -> float:
        return seconds(use, text, 8 * _LIMIT_S)


_LIMIT_S = 0.25
_ROUNDS = 3

"""Arguments whose meaning is clear although they are not what the schema says: models write what other harnesses took.

Nothing is guessed: each deviation has one meaning. All of them are noted, so that the record shows what was changed.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tools_app.json_schema.validation import loads, loads_multiline

_FENCE = "```"
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+"?|,(?=\s*[}\]])', re.DOTALL)
_MAX_LITERAL = 100_000  # characters: the parser of Python needs much memory for each
_CALL_FIELDS = ({"name", "arguments"}, {"tool", "arguments"}, {"name", "parameters"}, {"tool_name", "arguments"})
_REMARKS = (
    "description",
    "explanation",
    "reason",
    "rationale",
    "thought",
)  # remarks about the call, which no tool reads


@dataclass(frozen=True, kw_only=True)
class Synonyms:
    """Other words for the arguments of a tool, as models know them from other harnesses.

    `arguments` maps a name to ours, `values` maps the words of an argument to ours, and `fitted` makes further changes
    with one meaning.
    """

    arguments: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    fitted: Callable[[dict[str, Any]], dict[str, Any]] = dict


def read_object(text: str, tool: str) -> tuple[Any, str]:
    """Return the value in the text of a call's arguments, and how it deviates from JSON, or "".

    The text may be fenced, have line breaks in strings, closing commas or the quotes of Python, be encoded twice, or
    be the whole call of the tool. Text that was cut off is never completed.

    Raises: ValueError, RecursionError.
    """
    value, remark = _read(text)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value, remark = _read(value)[0], "JSON in a JSON text"
    if isinstance(value, dict) and set(value) in _CALL_FIELDS:
        name, arguments = value.values()
        if name == tool and isinstance(arguments, dict):
            return arguments, "the whole call as its arguments"
    return value, remark


def _read(text: str) -> tuple[Any, str]:
    try:
        return loads(text), ""
    except ValueError:
        if reading := next(_lenient_readings(text), None):
            return reading
        raise


def _lenient_readings(text: str) -> Iterator[tuple[Any, str]]:
    """Yield the readings of a text that is no JSON, the most probable first."""
    text = text.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text.partition("\n")[2].removesuffix(_FENCE)
        with suppress(ValueError):
            yield loads(text), "a code fence"
    with suppress(ValueError):
        yield loads_multiline(text), "line breaks in a JSON text"
    without_commas = _STRING_OR_COMMA.sub(lambda match: "" if match[0] == "," else match[0], text)
    if without_commas != text:
        with suppress(ValueError):
            yield loads_multiline(without_commas), "a comma at an end"
    if text.startswith("{'") and len(text) <= _MAX_LITERAL:
        with suppress(ValueError, SyntaxError, MemoryError, TypeError):
            yield loads(json.dumps(ast.literal_eval(text))), "the quotes of Python"


def clarified(
    values: dict[str, Any], schema: Mapping[str, Any], synonyms: Synonyms
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments in the words of the schema, and a remark for each change."""
    properties = schema.get("properties", {})
    out, remarks = values, list[str]()
    if not _is_in_words_and_bounds(values, properties):
        out, remarks = _in_our_words(values, properties, synonyms)
    fitted = synonyms.fitted(out)
    remarks += [f"{name}: {_short(fitted[name])}" for name in fitted if name not in out or fitted[name] != out[name]]
    return fitted, remarks


def _is_in_words_and_bounds(values: Mapping[str, Any], properties: Mapping[str, Any]) -> bool:
    """Return whether most calls' case holds: nothing to rename and nothing to change. It costs few function calls."""
    for name, value in values.items():
        if (argument := properties.get(name)) is None:
            return False
        if type(value) is str:
            if "enum" in argument and value not in argument["enum"]:
                return False
        elif type(value) in (int, float) and not 0 < value <= argument.get("maximum", value):
            return False
    return True


def _in_our_words(
    values: dict[str, Any], properties: Mapping[str, Any], synonyms: Synonyms
) -> tuple[dict[str, Any], list[str]]:
    out, remarks = _renamed(values, properties, synonyms.arguments)
    for name in [name for name in out if name in properties]:
        value = out[name]
        value_in_words = _in_words(value, properties[name], synonyms.values.get(name, {}))
        out[name] = _in_bounds(name, value_in_words, properties[name])
        if out[name] != value:
            remarks.append(f"{name}: {_short(value)} → {_short(out[name])}")
    return out, remarks


def _renamed(
    values: dict[str, Any], properties: Mapping[str, Any], names: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    out, remarks = {}, []
    for name, value in values.items():
        known = _known_name(name, properties, names)
        if known not in (name, *values) and known not in out:
            remarks.append(f"{name} → {known}")
            out[known] = value
        elif name in _REMARKS and name not in properties and isinstance(value, str):
            remarks.append(f"without {name}")
        else:
            out[name] = value
    return out, remarks


def _known_name(name: str, properties: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return our name of an argument: also for another spelling, such as timeoutS or Timeout-S."""
    if name in properties:
        return name
    plain = _plain(name)
    return next((known for known in properties if _plain(known) == plain), names.get(plain, name))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _in_words(value: Any, schema: Mapping[str, Any], words: Mapping[str, str]) -> Any:
    """Return the member of an enum that the value names in another case or word."""
    allowed = schema.get("enum", ())
    if not isinstance(value, str) or not allowed or value in allowed:
        return value
    plain = _plain(value)
    return next((item for item in allowed if isinstance(item, str) and _plain(item) == plain), words.get(plain, value))


def _in_bounds(name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a number above its maximum as the maximum, and an offset of 0 as 1 where counting begins there."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if value > schema.get("maximum", value):
        return schema["maximum"]
    return 1 if name == "offset" and value == 0 and schema.get("minimum") == 1 else value


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"

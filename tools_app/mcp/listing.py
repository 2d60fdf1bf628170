"""The tools of a server's list, in the form that providers accept. A tool that cannot be used is skipped by name."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tools_app.errors import InvalidSchema
from tools_app.json_schema import external

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+")
_MAX_NAME = 64  # characters of server__tool that providers accept
_SUFFIX_LENGTH = 6
_MAX_OWN_NAME = 200  # characters; the specification allows 128
_NAMED_SCHEMAS = {"properties", "$defs", "definitions"}
_SCHEMAS = {"anyOf", "oneOf", "allOf", "items", "additionalProperties"}
_MAX_DESCRIPTION = 2000
_MAX_REASON = 300
# From this revision on, structured data can be any JSON value.
_ANY_OUTPUT_SINCE = "2026-07-28"


@dataclass(frozen=True, kw_only=True)
class ListedTool:
    """A tool of a server. `schema` is JSON text. `digest` changes with each text that a model reads about the tool.

    `own_name` is the server's name for it. `name` differs if providers do not accept that.
    """

    name: str
    description: str
    schema: str
    own_name: str
    is_read_only: bool = False
    is_destructive: bool = False

    @property
    def digest(self) -> str:
        text = json.dumps([self.own_name, self.description, self.schema], ensure_ascii=False)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The usable tools of a server, and the reasons why others are skipped, by name."""

    tools: list[ListedTool] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)


class _Skipped(Exception):
    """A tool cannot be used, for this reason."""


def listing_of(server: str, answer: Mapping[str, Any]) -> Listing:
    """Return the tools of the child's answer that a provider would accept, and the others with their reasons."""
    skipped: dict[str, str] = dict(answer.get("skipped", {}))
    usable: dict[str, tuple[Mapping[str, Any], str]] = {}
    for number, tool in enumerate(answer["tools"], start=1):
        try:
            name = _own_name(tool)
            if name in usable:
                raise _Skipped("Another tool of the list has the same name; the first is used.")
            usable[name] = tool, _schema(tool, takes_any_output=answer.get("protocol", "") >= _ANY_OUTPUT_SINCE)
        except _Skipped as reason:
            skipped[_label(tool, number)] = str(reason)[:_MAX_REASON]
    names = _accepted_names(server, list(usable))
    tools = []
    for own_name, (tool, schema) in usable.items():
        hints = tool.get("annotations")
        hints = hints if isinstance(hints, dict) else {}
        tools.append(
            ListedTool(
                name=names[own_name],
                own_name=own_name,
                description=_description(tool),
                schema=schema,
                is_read_only=hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True,
                is_destructive=hints.get("destructiveHint") is True,
            )
        )
    return Listing(tools=tools, skipped=skipped)


def _own_name(tool: Any) -> str:
    if not isinstance(tool, dict):
        raise _Skipped("It is no object.")
    name = tool.get("name")
    if not isinstance(name, str) or not name.strip():
        raise _Skipped("It has no name.")
    if len(name) > _MAX_OWN_NAME:
        raise _Skipped(f"Its name is longer than {_MAX_OWN_NAME} characters.")
    if not name.isprintable():
        raise _Skipped("Its name has characters that cannot be shown.")
    return name


def _label(tool: Any, number: int) -> str:
    name = tool.get("name") if isinstance(tool, dict) else None
    label = name if isinstance(name, str) else ""
    shown = "".join(character for character in label if character.isprintable()).strip()
    return shown[:_MAX_OWN_NAME] or f"tool {number} of the list"


def _description(tool: Mapping[str, Any]) -> str:
    text = tool.get("description")
    return " ".join(text.split()).replace("\0", "")[:_MAX_DESCRIPTION] if isinstance(text, str) else ""


def _schema(tool: Mapping[str, Any], *, takes_any_output: bool) -> str:
    """Return the schema of the arguments as JSON text.

    An empty list is an empty object of a server in PHP. A schema without a type is accepted if it has properties or is
    empty, which many servers send.

    Raises: _Skipped.
    """
    schema = tool.get("inputSchema")
    if schema == []:
        schema = {}
    if not isinstance(schema, dict):
        raise _Skipped("It has no inputSchema, or one that is no object.")
    if schema.get("properties") == []:
        schema = {**schema, "properties": {}}
    declared = schema.get("type", "object" if "properties" in schema or not schema else None)
    if declared not in ("object", ["object"]):
        kind = "no type" if declared is None else f"the type {json.dumps(declared)}"
        raise _Skipped(f"Its inputSchema has {kind}; the protocol requires the type object.")
    output = tool.get("outputSchema")
    if output is not None and not takes_any_output and output != []:
        if not isinstance(output, dict):
            raise _Skipped("Its outputSchema is no object.")
        if output.get("type", "object") != "object":
            kind = json.dumps(output["type"])
            raise _Skipped(f"Its outputSchema has the type {kind}; the protocol requires the type object.")
    try:
        text = external.schema_text({"properties": {}, **schema, "type": "object"})
    except InvalidSchema as error:
        raise _Skipped(f"Its inputSchema cannot be used. {error}") from error
    return json.dumps(_with_items(json.loads(text)), ensure_ascii=False)


def _accepted_names(server: str, own_names: list[str]) -> dict[str, str]:
    """Return a name that providers accept for each of the server's names.

    Dots, slashes (SEP-986 of the protocol) and other characters become "_". If that is another tool's name, or if a
    name is too long, it gets a suffix that depends on the server's name alone, so that it stays the same.
    """
    longest = _MAX_NAME - len(f"{server}__")
    simple = {name: re.sub(r"[^A-Za-z0-9_-]", "_", name) for name in own_names}
    counts = Counter(simple.values())
    return {
        name: plain
        if len(plain) <= longest and (name == plain or (counts[plain] == 1 and plain.strip("_")))
        else f"{plain[: longest - _SUFFIX_LENGTH - 1]}_{hashlib.sha256(name.encode()).hexdigest()[:_SUFFIX_LENGTH]}"
        for name, plain in simple.items()
    }


def _with_items(schema: Any) -> Any:
    """Add `items` to lists of any value: OpenAI refuses every request with a list whose items are not described.

    Source: "array schema missing items", as in github.com/ogx-ai/ogx/issues/3004.
    """
    if not isinstance(schema, dict):
        return schema
    out = dict(schema)
    for key in _NAMED_SCHEMAS & schema.keys():
        if isinstance(schema[key], dict):
            out[key] = {name: _with_items(part) for name, part in schema[key].items()}
    for key in _SCHEMAS & schema.keys():
        part = schema[key]
        out[key] = [_with_items(item) for item in part] if isinstance(part, list) else _with_items(part)
    declared = schema.get("type")
    is_list = declared == "array" or (isinstance(declared, list) and "array" in declared)
    if is_list and not {"items", "prefixItems"} & schema.keys():
        out["items"] = {}
    return out

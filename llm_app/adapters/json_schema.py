"""OpenAI chat completions whose reply must be one call. The constraint makes even small models write valid calls."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from llm_app.adapters import extra_body
from llm_app.adapters.base import RouteParameters
from llm_app.adapters.openai_native import OpenAINative
from llm_app.adapters.openai_parser import OpenAIParser
from llm_app.adapters.schema_forms import strict_form
from llm_app.text_calls import writing
from llm_app.text_calls.streams import JSONReplyStream
from llm_app.types import Message, Prompt, ToolMode, ToolSpec

_KEYWORDS = frozenset({"type", "enum", "const"})


class JSONSchema(OpenAINative):
    """Chat completions with replies constrained by a JSON Schema.

    Quirks of a route, in addition to those of openai_native:

    schema_field: the field that takes the schema if `response_format` is not supported: "format" (Ollama's own API),
        "guided_json" or "structured_outputs.json" (vLLM).
    schema_keywords: additional JSON Schema keywords that the server supports, such as ["minLength", "maximum"].
    schema_root: "object" if the root of the schema must not be a list of alternatives (OpenAI).
    """

    name = "json_schema"
    label = "OpenAI chat completions, replies constrained by a JSON Schema"
    version: ClassVar[int] = 1
    tool_mode = ToolMode.JSON

    def _message_fields(self, message: Message, parameters: RouteParameters) -> dict[str, Any]:
        if message.role == "tool":
            return {"role": "user", "content": writing.tool_result_text(message.content)}
        call = [writing.json_call(message.tool_call)] if message.tool_call else []
        content = "\n".join([message.content, *call] if message.content.strip() else call)
        return {"role": message.role, "content": content}

    def _tool_fields(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        """Return the constraint. The prompt describes the tools themselves."""
        if not prompt.tools:
            return {}
        quirks = parameters.quirks
        schema, is_strict = reply_schema(prompt.tools, keywords=quirks.get("schema_keywords", ())), True
        if quirks.get("schema_root") == "object":
            schema = _with_object_at_root(schema)
            strict = strict_form(schema, null_means_omitted=True)
            schema, is_strict = strict or schema, strict is not None
        if field := quirks.get("schema_field"):
            fields: dict[str, Any] = {}
            extra_body.set_field(fields, field, schema)
            return fields
        json_schema = {"name": "tool_call", "strict": is_strict, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": json_schema}}

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> OpenAIParser:
        open_with = parameters.quirks.get("thinking_end", "")
        return OpenAIParser(parameters.model, prompt.tool_names, JSONReplyStream(), open_with)


def _with_object_at_root(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with separate alternatives for tool and arguments.

    Arguments of another tool are rejected later.
    """
    calls = [alternative["properties"] for alternative in schema["anyOf"]]
    tool = {"type": "string", "enum": [call["tool"]["const"] for call in calls]}
    arguments = {"anyOf": [call["arguments"] for call in calls]}
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    return _object({"tool": tool, "arguments": arguments}, ["tool", "arguments"]) | definitions


def reply_schema(tools: Sequence[ToolSpec], *, keywords: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of a reply that calls one tool: `{"tool": name, "arguments": {…}}`, one alternative per tool.

    Keywords that llama.cpp, vLLM or Ollama may reject (lengths, patterns, formats, ranges) are omitted unless
    `keywords` names them. Arguments are validated against the complete schema later.
    """
    definitions: dict[str, Any] = {}
    alternatives = [_alternative(tool, definitions, _KEYWORDS.union(keywords)) for tool in tools]
    return {"anyOf": alternatives} | ({"$defs": definitions} if definitions else {})


def _alternative(tool: ToolSpec, definitions: dict[str, Any], keywords: frozenset[str]) -> dict[str, Any]:
    """Return the alternative of one tool. Its definitions move to the root, under names that no other tool can have."""
    definition_names = [(key, name) for key in ("$defs", "definitions") for name in tool.parameters.get(key, {})]
    references = {f"#/{key}/{name}": f"{tool.name}.{number}" for number, (key, name) in enumerate(definition_names)}
    rewriter = _PlainSchema(references, keywords)
    for key, name in definition_names:
        definitions[references[f"#/{key}/{name}"]] = rewriter.schema(tool.parameters[key][name])
    properties = {"tool": {"const": tool.name}, "arguments": rewriter.schema(tool.parameters)}
    return _object(properties, ["tool", "arguments"])


def _object(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


class _PlainSchema:
    """A rewriter for the schemas of one tool. Schemas without a plain form allow any value."""

    def __init__(self, references: Mapping[str, str], keywords: frozenset[str]) -> None:
        self._references, self._keywords = references, keywords

    def schema(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, Mapping):
            return {}
        if "$ref" in schema:
            name = self._references.get(schema["$ref"])
            return {"$ref": f"#/$defs/{name}"} if name else {}
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return {"anyOf": [self.schema(item) for item in schema[key]]}
        if len(inner := schema.get("allOf", [])) == 1:
            return self.schema(inner[0])
        if isinstance(kinds := schema.get("type"), list):
            return {"anyOf": [self.schema({**schema, "type": kind}) for kind in kinds]}
        return self._keywords_of(schema)

    def _keywords_of(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        out = {key: value for key, value in schema.items() if key in self._keywords}
        if schema.get("type") == "array" and "items" in schema:
            out["items"] = self.schema(schema["items"])
        if schema.get("type") == "object":
            out |= self._object_members(schema)
        return out

    def _object_members(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        properties = {name: self.schema(item) for name, item in schema.get("properties", {}).items()}
        others = schema.get("additionalProperties", not properties)
        if properties or others is False:
            return _object(properties, [name for name in schema.get("required", ()) if name in properties])
        return {"additionalProperties": self.schema(others) or True}

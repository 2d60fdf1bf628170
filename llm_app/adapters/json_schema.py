"""OpenAI chat completions whose reply is constrained to one call: even a small model then gives a valid one."""

from typing import Any, ClassVar

from llm_app.adapters import extra_body
from llm_app.adapters.base import RouteParameters
from llm_app.adapters.openai_native import OpenAINative
from llm_app.adapters.openai_parser import OpenAIParser
from llm_app.adapters.reply_schema import schema_of
from llm_app.text_calls import writing
from llm_app.text_calls.streams import JSONWords
from llm_app.types import Message, Prompt, ToolMode


class JSONSchema(OpenAINative):
    """Quirks, beside those of openai_native:

    schema_field: the field that takes the schema itself, where `response_format` is not understood: "format" (Ollama's
        own way), "guided_json" or "structured_outputs.json" (vLLM).
    schema_keywords: further keywords of JSON Schema that the server understands, such as ["minLength", "maximum"].
    """

    name = "json_schema"
    version: ClassVar[int] = 1
    tool_mode = ToolMode.JSON

    def _message(self, message: Message, parameters: RouteParameters) -> dict[str, Any]:
        if message.role == "tool":
            return {"role": "user", "content": writing.result(message.content)}
        call = [writing.json_call(message.tool_call)] if message.tool_call else []
        content = "\n".join([message.content, *call] if message.content.strip() else call)
        return {"role": message.role, "content": content}

    def _tools(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        """The constraint. The tools themselves are described in the prompt."""
        fields: dict[str, Any] = {}
        if prompt.tools:
            schema = schema_of(prompt.tools, keywords=parameters.quirks.get("schema_keywords", ()))
            if field := parameters.quirks.get("schema_field"):
                extra_body.put(fields, field, schema)
            else:
                named = {"name": "tool_call", "strict": True, "schema": schema}
                fields["response_format"] = {"type": "json_schema", "json_schema": named}
        return fields

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> OpenAIParser:
        open_with = parameters.quirks.get("thinking_end", "")
        return OpenAIParser(parameters.model, prompt.tool_names, JSONWords(), open_with)

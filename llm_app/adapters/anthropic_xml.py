"""Anthropic messages without a field for tools: they are described in the prompt and called in the text."""

from typing import Any

from llm_app.adapters.anthropic_native import AnthropicNative, picture_blocks
from llm_app.adapters.anthropic_parser import AnthropicParser
from llm_app.adapters.base import RouteParameters
from llm_app.text_calls import writing
from llm_app.text_calls.streams import XMLWords
from llm_app.types import Message, Prompt, ToolMode


class AnthropicXML(AnthropicNative):
    """Calls and results of the history are text in the same form. Quirks are those of anthropic_native."""

    name = "anthropic_xml"
    label = "Anthropic messages, tool calls as XML"
    tool_mode = ToolMode.XML

    def _blocks(self, message: Message, parameters: RouteParameters) -> list[dict[str, Any]]:
        parts = [writing.tool_result_text(message.content) if message.role == "tool" else message.content]
        if message.tool_call:
            parts.append(writing.xml_call(message.tool_call))
        text = "\n".join(part for part in parts if part.strip())
        words = [{"type": "text", "text": text}] if text else []
        return words + picture_blocks(message)

    def _may_think(self, prompt: Prompt, parameters: RouteParameters) -> bool:
        return True  # results are words of a user, so each reply begins a turn

    def _tools(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        return {}

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> AnthropicParser:
        return AnthropicParser(parameters.model, prompt.tool_names, XMLWords())

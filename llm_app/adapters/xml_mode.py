"""Protocols without a field for tools: the prompt describes the tools, and calls are XML-like tags in the text.

Calls and results of the history are written in the same form. Quirks are those of the native protocols.
"""

from typing import Any, ClassVar

from llm_app.adapters.anthropic_native import AnthropicNative, picture_blocks
from llm_app.adapters.anthropic_parser import AnthropicParser
from llm_app.adapters.base import RouteParameters
from llm_app.adapters.openai_native import OpenAINative
from llm_app.adapters.openai_parser import OpenAIParser
from llm_app.text_calls import writing
from llm_app.text_calls.streams import XMLReplyStream
from llm_app.types import Message, Prompt, ToolMode


class AnthropicXML(AnthropicNative):
    name = "anthropic_xml"
    label = "Anthropic messages, tool calls as XML"
    version: ClassVar[int] = 2
    tool_mode = ToolMode.XML

    def _content_blocks(self, message: Message, parameters: RouteParameters) -> list[dict[str, Any]]:
        text = writing.xml_message(message)
        blocks = [{"type": "text", "text": text}] if text else []
        return blocks + picture_blocks(message)

    def may_think(self, prompt: Prompt, parameters: RouteParameters) -> bool:
        return True  # results are user texts, so each reply begins a turn

    def _tool_fields(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        return {}

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> AnthropicParser:
        return AnthropicParser(parameters.model, prompt.tool_names, XMLReplyStream())


class OpenAIXML(OpenAINative):
    """Chat completions for gateways that drop the field `tools`.

    Thinking is never sent back: each result begins a user turn.
    """

    name = "openai_xml"
    label = "OpenAI chat completions, tool calls as XML"
    version: ClassVar[int] = 1
    tool_mode = ToolMode.XML

    def _message_fields(self, message: Message, parameters: RouteParameters) -> dict[str, Any]:
        role = "assistant" if message.role == "assistant" else "user"
        return {"role": role, "content": writing.xml_message(message)}

    def _tool_fields(self, prompt: Prompt, parameters: RouteParameters) -> dict[str, Any]:
        return {}

    def parser(self, parameters: RouteParameters, prompt: Prompt) -> OpenAIParser:
        open_with = parameters.quirks.get("thinking_end", "")
        return OpenAIParser(parameters.model, prompt.tool_names, XMLReplyStream(), open_with)

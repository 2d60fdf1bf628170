"""Versions in which no request is made any more. They stay as long as logs of them do, which are rebuilt by them."""

from typing import ClassVar

from llm_app.adapters.litellm import LiteLLM
from llm_app.adapters.openai_native import OpenAINative
from llm_app.scripted import Scripted
from llm_app.types import ToolCall


class _ArgumentsAsWritten:
    """Version 1: the arguments of a call went back as they came, also where they were no JSON."""

    version: ClassVar[int] = 1

    def _arguments(self, call: ToolCall) -> str:
        return call.arguments


class OpenAINative1(_ArgumentsAsWritten, OpenAINative):
    pass


class LiteLLM1(_ArgumentsAsWritten, LiteLLM):
    pass


class Scripted1(_ArgumentsAsWritten, Scripted):
    pass

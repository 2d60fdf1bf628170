"""The protocols that a provider may speak, by name."""

from typing import ClassVar

from llm_app.adapters.anthropic_native import AnthropicNative
from llm_app.adapters.anthropic_xml import AnthropicXML
from llm_app.adapters.base import Adapter
from llm_app.adapters.json_schema import JSONSchema
from llm_app.adapters.litellm import LiteLLM
from llm_app.adapters.openai_embeddings import OpenAIEmbeddings
from llm_app.adapters.openai_media import OpenAIImages, OpenAISpeech
from llm_app.adapters.openai_native import OpenAINative
from llm_app.errors import BadRequest
from llm_app.models import ModelKind, Protocol
from llm_app.scripted.adapter import Scripted
from llm_app.types import ToolCall

# --- versions in which no request is made any more; they stay as long as there are logs to rebuild by them -----------


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


_ADAPTERS: dict[str, Adapter] = {
    adapter.name: adapter
    for adapter in (OpenAINative(), AnthropicNative(), AnthropicXML(), JSONSchema(), LiteLLM(), Scripted())
}
_MEDIA: dict[tuple[str, str], Adapter] = {
    (Protocol.OPENAI_NATIVE, ModelKind.IMAGE): OpenAIImages(),
    (Protocol.OPENAI_NATIVE, ModelKind.AUDIO): OpenAISpeech(),
    (Protocol.OPENAI_NATIVE, ModelKind.EMBEDDING): OpenAIEmbeddings(),
}
_EARLIER: tuple[Adapter, ...] = (OpenAINative1(), LiteLLM1(), Scripted1())
_ALL = (*_ADAPTERS.values(), *_MEDIA.values(), *_EARLIER)
_BY_VERSION = {(adapter.name, adapter.version): adapter for adapter in _ALL}


def adapter_for(protocol: str, kind: str = ModelKind.TEXT) -> Adapter:
    """Raises BadRequest for a protocol that this server does not speak, or not with models of this kind."""
    adapter = _ADAPTERS.get(protocol) if kind == ModelKind.TEXT else _MEDIA.get((protocol, kind))
    if adapter is None:
        raise BadRequest(f"the protocol {protocol!r} is not available for models of {kind} in this version")
    return adapter


def adapter_of(name: str, version: int) -> Adapter:
    """The very one that a log names. Raises KeyError for a version that this server no longer has."""
    return _BY_VERSION[name, version]

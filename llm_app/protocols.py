"""The protocols that a provider may speak, by name."""

from llm_app.adapters.anthropic_native import AnthropicNative
from llm_app.adapters.anthropic_xml import AnthropicXML
from llm_app.adapters.base import Adapter
from llm_app.adapters.json_schema import JSONSchema
from llm_app.adapters.litellm import LiteLLM
from llm_app.adapters.openai_native import OpenAINative
from llm_app.errors import BadRequest
from llm_app.scripted import Scripted

_ADAPTERS: dict[str, Adapter] = {
    adapter.name: adapter
    for adapter in (OpenAINative(), AnthropicNative(), AnthropicXML(), JSONSchema(), LiteLLM(), Scripted())
}
_EARLIER: tuple[Adapter, ...] = ()  # versions that no request is made with any more: they stay as long as logs of them
_BY_VERSION = {(adapter.name, adapter.version): adapter for adapter in (*_ADAPTERS.values(), *_EARLIER)}


def adapter_for(protocol: str) -> Adapter:
    """Raises BadRequest for a protocol that this server does not speak."""
    if protocol not in _ADAPTERS:
        raise BadRequest(f"the protocol {protocol!r} is not available in this version")
    return _ADAPTERS[protocol]


def adapter_of(name: str, version: int) -> Adapter:
    """The very one that a log names. Raises KeyError for a version that this server no longer has."""
    return _BY_VERSION[name, version]

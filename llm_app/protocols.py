"""The protocols of providers by name: built-in ones and those of plugins.

A plugin is a package with an entry point in the group `agentsite.protocols`: its name → a subclass of `Adapter`.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import ClassVar

from llm_app.adapters.anthropic_native import AnthropicNative
from llm_app.adapters.base import Adapter
from llm_app.adapters.json_schema import JSONSchema
from llm_app.adapters.litellm import LiteLLM
from llm_app.adapters.openai_embeddings import OpenAIEmbeddings
from llm_app.adapters.openai_media import OpenAIImages, OpenAISpeech
from llm_app.adapters.openai_native import OpenAINative
from llm_app.adapters.openai_parser import OpenAIParser
from llm_app.adapters.openai_responses import OpenAIResponses
from llm_app.adapters.xml_mode import AnthropicXML, OpenAIXML
from llm_app.errors import ProtocolUnavailable
from llm_app.models import ModelKind, Protocol, Route
from llm_app.models.provider import LONGEST_NAME
from llm_app.scripted.adapter import Scripted
from llm_app.transport import wire
from llm_app.types import ToolCall

logger = logging.getLogger(__name__)
ENTRY_POINT_GROUP = "agentsite.protocols"

# --- built in ----------------------------------------------------------------------------------------------------

_BUILT_IN: Mapping[str, Adapter] = {
    adapter.name: adapter
    for adapter in (
        OpenAINative(),
        OpenAIXML(),
        OpenAIResponses(),
        AnthropicNative(),
        AnthropicXML(),
        JSONSchema(),
        LiteLLM(),
        Scripted(),
    )
}
_MEDIA: Mapping[tuple[str, str], Adapter] = {
    (Protocol.OPENAI_NATIVE, ModelKind.IMAGE): OpenAIImages(),
    (Protocol.OPENAI_NATIVE, ModelKind.AUDIO): OpenAISpeech(),
    (Protocol.OPENAI_NATIVE, ModelKind.EMBEDDING): OpenAIEmbeddings(),
}


# Earlier versions, which send no more requests. They stay as long as there are logs to rebuild with them.


class _WithoutNullAsOmitted:
    """Strict schemas without null for omitted arguments: a tool with optional arguments was not strict."""

    null_means_omitted: ClassVar[bool] = False


class _UncheckedArguments(_WithoutNullAsOmitted):
    """Call arguments were sent back as received, even if they were not JSON."""

    version: ClassVar[int] = 1

    def _arguments(self, call: ToolCall) -> str:
        return call.arguments


class OpenAINative1(_UncheckedArguments, OpenAINative):
    pass


class LiteLLM3(LiteLLM):
    """No thinking in `thinking_field`, which was always empty."""

    version: ClassVar[int] = 3
    thinking_protocol: ClassVar[str] = OpenAIParser.protocol


class LiteLLM1(_UncheckedArguments, LiteLLM3):
    pass


class Scripted1(_UncheckedArguments, Scripted):
    pass


class OpenAINative2(_WithoutNullAsOmitted, OpenAINative):
    version: ClassVar[int] = 2


class LiteLLM2(_WithoutNullAsOmitted, LiteLLM3):
    version: ClassVar[int] = 2


class Scripted2(_WithoutNullAsOmitted, Scripted):
    version: ClassVar[int] = 2


class AnthropicNative2(AnthropicNative):
    version: ClassVar[int] = 2
    raises_limit: ClassVar[bool] = True


class AnthropicNative1(_WithoutNullAsOmitted, AnthropicNative2):
    version: ClassVar[int] = 1


class AnthropicXML1(AnthropicXML):
    version: ClassVar[int] = 1
    raises_limit: ClassVar[bool] = True


_EARLIER_VERSIONS: tuple[Adapter, ...] = (
    *(OpenAINative1(), LiteLLM1(), Scripted1()),
    *(OpenAINative2(), LiteLLM2(), LiteLLM3(), Scripted2()),
    *(AnthropicNative1(), AnthropicNative2(), AnthropicXML1()),
)

# --- plugins -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Plugins:
    """The loaded plugins.

    `faults` contains the reasons for unusable entry points, by name; other protocols are not affected.
    """

    adapters: Mapping[str, Adapter]
    faults: Mapping[str, str]


@cache
def plugins() -> Plugins:
    """Load the plugins on first use, once per process."""
    adapters: dict[str, Adapter] = {}
    faults: dict[str, str] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            adapters[point.name] = _load(point, {*_BUILT_IN, *adapters})
        except Exception as error:  # a plugin may fail in any way
            logger.exception("could not load the protocol %s", point.name)
            faults[point.name] = f"{type(error).__name__}: {error}"
    return Plugins(adapters=adapters, faults=faults)


def _load(point: EntryPoint, taken_names: set[str]) -> Adapter:
    """Load a plugin.

    Raises: ValueError or TypeError for an invalid protocol, and the exceptions of the plugin.
    """
    if point.name in taken_names:
        raise ValueError("there is a protocol of this name already")
    if len(point.name) > LONGEST_NAME:
        raise ValueError(f"its name has more than {LONGEST_NAME} characters")
    loaded = point.load()
    adapter = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(adapter, Adapter):
        raise TypeError("it is not a subclass of llm_app.adapters.base.Adapter")
    if adapter.name != point.name:
        raise ValueError(f"its adapter has another name: {adapter.name}")
    return adapter


# --- both --------------------------------------------------------------------------------------------------------


def adapters() -> Mapping[str, Adapter]:
    """Return the adapters of text models by protocol."""
    return {**_BUILT_IN, **plugins().adapters}


def adapter_names() -> set[str]:
    """Return all adapter names that logs may contain."""
    return {*adapters(), *(adapter.name for adapter in _MEDIA.values())}


def labels() -> dict[str, str]:
    """Return the labels for administrators, by protocol."""
    return {name: adapter.label or name for name, adapter in adapters().items()}


def adapter_for(protocol: str, kind: str = ModelKind.TEXT) -> Adapter:
    """Return the adapter of a protocol for models of a kind.

    Raises: ProtocolUnavailable if the protocol is not installed, or does not support the kind.
    """
    adapter = adapters().get(protocol) if kind == ModelKind.TEXT else _MEDIA.get((protocol, kind))
    if adapter is None:
        raise ProtocolUnavailable(f"the protocol {protocol!r} is not available for models of {kind}")
    return adapter


def prepare() -> None:
    """Load everything that the enabled routes need for their first calls. litellm takes seconds, so call this in a
    thread.
    """
    used_names = Route.objects.filter(provider__enabled=True).values_list("provider__protocol", flat=True)
    for name in adapters().keys() & set(used_names):
        adapters()[name].prepare()


async def close() -> None:
    """Close all connections to providers when the process ends. Run this on the event loop of the calls."""
    wire.close()
    for adapter in adapters().values():
        await adapter.close()


def adapter_of(name: str, version: int) -> Adapter:
    """Return the exact adapter that a log names.

    Raises: KeyError for a version that this server does not have.
    """
    return by_version()[name, version]


def by_version() -> dict[tuple[str, int], Adapter]:
    """Return every adapter that a log may name, by name and version."""
    known_adapters = (*adapters().values(), *_MEDIA.values(), *_EARLIER_VERSIONS)
    return {(adapter.name, adapter.version): adapter for adapter in known_adapters}

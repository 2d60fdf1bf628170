"""A provider's list of models, sorted by how well they suit tasks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from llm_app import errors, protocols
from llm_app.adapters.base import Endpoint
from llm_app.base_address import endpoint_address, versioned_address, with_parameter
from llm_app.models import Protocol, Provider
from llm_app.setup.known_providers import KnownProvider, ModelFamily
from llm_app.transport import wire
from llm_app.types import Runner

_TIMEOUT_S = 5.0
_MAX_MODELS = 1_000  # models
LARGEST_WINDOW = 400_000  # tokens; only an administrator can set a larger, more expensive window
UNKNOWN_WINDOW = 32_000
# Parts of the names of models without tool calls: embeddings, pictures, speech, moderation, completions.
_OTHER_MODELS = re.compile(
    r"embed|rerank|whisper|tts|audio|speech|transcri|realtime|-live|voice|image|dall-e|imagen|veo|sora|video|lyria|"
    r"moderation|guard|search|deep-research|computer-use|turbo-instruct|davinci|babbage|aqa|robotics|-ocr"
)
_WINDOWS = ("max_input_tokens", "context_window", "context_length", "max_model_len", "n_ctx")
_OUTPUTS = ("max_output_tokens", "max_completion_tokens", "max_tokens")


@dataclass(frozen=True, kw_only=True)
class ListedModel:
    """An entry of the list. Missing values are 0 and None."""

    name: str
    context_window: int = 0
    max_output_tokens: int = 0
    takes_images: bool | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def fetch(provider: Provider, run: Runner) -> list[ListedModel]:
    """Return the models that hold conversations, in the provider's order.

    Raises: LLMError; its text does not contain the key.
    """
    adapter = protocols.adapter_for(provider.protocol)
    headers = adapter.request(b"", Endpoint(base_url=provider.base_url, api_key=provider.api_key)).headers
    try:
        body = wire.get(_list_url(provider), {**headers, "Accept": "application/json"}, run, total_s=_TIMEOUT_S)
        return list(_parse_list(orjson.loads(body)))
    except (orjson.JSONDecodeError, TypeError) as error:
        raise errors.UnreadableReply("this is no list of models") from error
    except errors.LLMError as error:
        if provider.api_key:
            error.detail = error.detail.replace(provider.api_key, "[key]")
        raise


def _list_url(provider: Provider) -> str:
    if provider.protocol.startswith("anthropic"):
        return with_parameter(versioned_address(provider.base_url, "models"), f"limit={_MAX_MODELS}")
    return endpoint_address(provider.base_url, "models")


def _parse_list(answer: Any) -> Iterable[ListedModel]:
    """Yield models from OpenAI's list format and its extensions by Anthropic, DeepSeek, vLLM and others.

    Raises: TypeError if the answer is no list.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("data"), list):
        raise TypeError("no list")
    for row in answer["data"][:_MAX_MODELS]:
        name = row.get("id") if isinstance(row, dict) else None
        if isinstance(name, str) and 0 < len(name) <= 200 and _holds_conversations(name, row):
            yield _model(name.removeprefix("models/"), row)  # Gemini's prefix


def _holds_conversations(name: str, row: Mapping[str, Any]) -> bool:
    modalities = row.get("output_modalities")
    return not _OTHER_MODELS.search(name.lower()) and (not isinstance(modalities, list) or "text" in modalities)


def _model(name: str, row: Mapping[str, Any]) -> ListedModel:
    meta = row.get("meta")  # llama.cpp
    fields = {**meta, **row} if isinstance(meta, dict) else row
    return ListedModel(
        name=name,
        context_window=_number(fields, _WINDOWS),
        max_output_tokens=_number(fields, _OUTPUTS),
        takes_images=_takes_images(row),
    )


def _number(row: Mapping[str, Any], names: Sequence[str]) -> int:
    return next((row[name] for name in names if type(row.get(name)) is int and row[name] > 0), 0)


def _takes_images(row: Mapping[str, Any]) -> bool | None:
    """Return whether the model takes images. Anthropic lists capabilities; DeepSeek and OpenRouter list modalities."""
    capabilities, architecture = row.get("capabilities"), row.get("architecture")
    if isinstance(capabilities, dict) and isinstance(capabilities.get("image_input"), dict):
        return bool(capabilities["image_input"].get("supported"))
    modalities = row.get("input_modalities")
    if modalities is None and isinstance(architecture, dict):
        modalities = architecture.get("input_modalities")
    return "image" in modalities if isinstance(modalities, list) else None


def ranked(models: Iterable[ListedModel], known_provider: KnownProvider) -> list[ListedModel]:
    """Sort models by family and version, the preferred one first. Unknown models keep their order at the end."""
    return sorted(models, key=lambda model: _rank(model.name, known_provider.families))


def _rank(name: str, families: Sequence[ModelFamily]) -> tuple[int, int, int, int]:
    """Return the sort key. Among models of one version, the shortest name is neither a snapshot nor a smaller model."""
    for index, family in enumerate(families):
        if match := _match(family, name):
            digits = re.findall(r"\d+", ".".join(match.groups(default="")))
            major, minor = (*map(int, digits), 0, 0)[:2]
            return index, -major, -minor, len(name)
    return len(families), 0, 0, 0


def _match(family: ModelFamily, name: str) -> re.Match[str] | None:
    """Match a model name, which gateways prefix with the provider's name."""
    return re.fullmatch(family.pattern, name.lower().rpartition("/")[2])


def window_of(model: ListedModel, known_provider: KnownProvider) -> int:
    windows = (family.context_window for family in known_provider.families if _match(family, model.name))
    return min(model.context_window or next(windows, UNKNOWN_WINDOW), LARGEST_WINDOW)


def known_provider_of(provider: Provider, known_providers: Sequence[KnownProvider]) -> KnownProvider | None:
    """Return the known provider with this address, or else with this name."""
    for candidate in known_providers:
        if candidate.base_url and provider.base_url.startswith(candidate.base_url):
            return candidate
    return next((candidate for candidate in known_providers if candidate.name == provider.name), None)


def is_listable(provider: Provider) -> bool:
    return provider.protocol not in (Protocol.SCRIPTED, Protocol.LITELLM)

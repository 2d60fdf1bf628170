"""A provider's list of models: its formats, and the preferred model."""

from typing import Any

import pytest

from llm_app import errors
from llm_app.connection_test import LoopRunner
from llm_app.models import Provider
from llm_app.setup import known_providers, model_list
from llm_app.setup.model_list import ListedModel
from tests.provider import Reply, models, running

# The answer of GET /v1/models (community.openai.com/t/1381778), in its arbitrary order.
OPENAI = [
    "text-embedding-ada-002",
    "whisper-1",
    "gpt-3.5-turbo",
    "tts-1",
    "gpt-4-0613",
    "gpt-4",
    "davinci-002",
    "gpt-3.5-turbo-instruct",
    "dall-e-3",
    "gpt-4o",
    "omni-moderation-latest",
    "o1",
    "o3-mini",
    "gpt-4o-transcribe",
    "gpt-4o-search-preview",
    "gpt-4.1",
    "gpt-image-1",
    "gpt-5",
    "gpt-5-2025-08-07",
    "gpt-5-pro",
    "gpt-5.2",
    "gpt-5.2-codex",
    "gpt-5.6-sol",
    "gpt-5.6-terra",
    "gpt-6.1-sol",
    "gpt-6.1-sol-pro",
    "sora-2",
    "gpt-realtime",
    "o4-mini-deep-research",
]
ANTHROPIC = ["claude-fable-5-2", "claude-sonnet-5-5", "claude-opus-5-5", "claude-opus-5", "claude-opus-4-5-20251101"]
# Names at its endpoint for OpenAI's clients have this prefix (github.com/google-gemini/cookbook, OpenAI compatibility).
GEMINI = [
    f"models/{name}"
    for name in ["gemini-3.1-pro-preview", "gemini-3.8-flash", "gemini-3.8-live", "gemini-3.5-flash-lite", "imagen-4"]
]


@pytest.mark.parametrize(
    ("provider", "listed", "first"),
    [
        ("openai", OPENAI, "gpt-6.1-sol"),
        ("openai", ["gpt-4o", "gpt-5", "gpt-5.2-2025-12-11", "gpt-5.1"], "gpt-5.2-2025-12-11"),
        ("openai", ["gpt-10", "gpt-9.5-sol"], "gpt-10"),
        ("openai", ["gpt-5.10", "gpt-5.9"], "gpt-5.10"),
        ("openai", ["gpt-4", "gpt-4o", "gpt-4.1"], "gpt-4.1"),
        ("openai", ["text-embedding-3-small", "our-own-model"], "our-own-model"),
        ("anthropic", ANTHROPIC, "claude-opus-5-5"),
        ("anthropic", ["claude-opus-4-1-20250805", "claude-opus-4-20250514"], "claude-opus-4-1-20250805"),
        ("anthropic", ["claude-haiku-4-5-20251001", "claude-sonnet-4-6"], "claude-sonnet-4-6"),
        ("gemini", GEMINI, "gemini-3.8-flash"),
        ("gemini", ["models/gemini-2.5-flash", "models/gemini-2.5-pro"], "gemini-2.5-pro"),
        ("deepseek", ["deepseek-v4-pro", "deepseek-flash"], "deepseek-flash"),
        ("deepseek", ["deepseek-chat", "deepseek-v4-flash", "deepseek-v4-pro"], "deepseek-v4-pro"),
        ("compatible", ["meta-llama/llama-4", "anthropic/claude-opus-5", "openai/gpt-5.2"], "openai/gpt-5.2"),
        ("compatible", ["bge-embed", "qwen3:8b"], "qwen3:8b"),
    ],
)
def test_the_newest_suitable_model_is_preferred(provider: str, listed: list[str], first: str) -> None:
    assert names(provider, *listed)[0] == first


def test_models_without_conversations_are_omitted() -> None:
    left = names("openai", *OPENAI)
    assert not {"whisper-1", "dall-e-3", "gpt-image-1", "sora-2", "text-embedding-ada-002", "gpt-realtime"} & set(left)
    assert {"gpt-4o", "o1"} <= set(left)


@pytest.mark.parametrize(
    ("row", "model"),
    [
        # platform.claude.com/docs/en/api/models/list
        (
            {
                "id": "m",
                "max_input_tokens": 900_000,
                "max_tokens": 128_000,
                "capabilities": {"image_input": {"supported": True}},
            },
            ListedModel(name="m", context_window=900_000, max_output_tokens=128_000, takes_images=True),
        ),
        # api-docs.deepseek.com/api/list-models
        (
            {"id": "m", "context_window": 1_048_576, "max_output_tokens": 393_216, "input_modalities": ["text"]},
            ListedModel(name="m", context_window=1_048_576, max_output_tokens=393_216, takes_images=False),
        ),
        # docs.vllm.ai, /v1/models
        ({"id": "m", "max_model_len": 32_768}, ListedModel(name="m", context_window=32_768)),
        # github.com/ggml-org/llama.cpp, tools/server
        ({"id": "m", "meta": {"n_ctx_train": 8_192, "n_ctx": 4_096}}, ListedModel(name="m", context_window=4_096)),
        # openrouter.ai/docs, list of models
        (
            {"id": "a/m", "context_length": 128_000, "architecture": {"input_modalities": ["image", "text"]}},
            ListedModel(name="a/m", context_window=128_000, takes_images=True),
        ),
        ({"id": "m", "context_window": None, "max_tokens": "many", "capabilities": []}, ListedModel(name="m")),
    ],
    ids=["anthropic", "deepseek", "vllm", "llama.cpp", "openrouter", "nonsense"],
)
def test_details_of_models_are_read_in_each_list_format(row: dict[str, Any], model: ListedModel) -> None:
    assert asked("compatible", models(row)) == [model]


def test_windows_are_limited_to_affordable_sizes() -> None:
    (openai,) = (one for one in known_providers.KNOWN_PROVIDERS if one.name == "openai")
    windows = {
        ListedModel(name="gpt-5.6-sol"): 272_000,
        ListedModel(name="gpt-4o"): 128_000,
        ListedModel(name="gpt-5", context_window=16_000): 16_000,
        ListedModel(name="gpt-5", context_window=2_000_000): 400_000,
        ListedModel(name="unknown"): 32_000,
    }
    assert {model: model_list.window_of(model, openai) for model in windows} == windows


@pytest.mark.parametrize(
    "answer",
    [b"<html>", b"[]", b'{"data": {}}', b"null", b"\xff"],
)
def test_an_invalid_list_is_unreadable(answer: bytes) -> None:
    with pytest.raises(errors.UnreadableReply):
        asked("openai", Reply(chunks=[answer], content_type="application/json"))


def test_an_error_does_not_repeat_the_key() -> None:
    with pytest.raises(errors.AuthenticationFailed) as refused:
        asked("openai", Reply(status=401, chunks=[b"Incorrect API key provided: a-key"]))
    assert "a-key" not in str(refused.value)


def test_the_list_is_requested_in_the_way_of_the_protocol() -> None:
    for name, path, header in (
        ("openai", "/v1/models", "Authorization"),
        ("anthropic", "/v1/models?limit=1000", "X-Api-Key"),
    ):
        with running() as server:
            server.model_list = models("m")
            ask(provider(name, server.base_url))
            (asked_for,) = server.asked
        assert asked_for.path == path
        headers = {key.title(): value for key, value in asked_for.headers.items()}
        assert headers[header].removeprefix("Bearer ") == "a-key"
        assert ("Anthropic-Version" in headers) == (name == "anthropic")


@pytest.mark.parametrize(
    ("key", "address", "name"),
    [
        ("sk-ant-api03-abc", "", "anthropic"),
        ("sk-proj-abc", "", "openai"),
        ("sk-" + "Ab1" * 16, "", "openai"),
        ("sk-" + "0a" * 16, "", "deepseek"),
        ("AIzaSyAbc", "", "gemini"),
        ("sk-local", "http://127.0.0.1:9000/v1", "compatible"),
        ("", "http://127.0.0.1:9000/v1", "compatible"),
        ("sk-ant-api03-abc", "http://127.0.0.1:9000", "anthropic"),
        ("hello", "", None),
    ],
)
def test_a_key_identifies_its_provider(key: str, address: str, name: str | None) -> None:
    found = known_providers.provider_of_key(key, address)
    assert (found and found.name) == name


def provider(name: str, address: str) -> Provider:
    found = known_providers.known_provider(name)
    assert found is not None
    return found.provider("a-key", address)


def ask(asked: Provider) -> list[ListedModel]:
    with LoopRunner() as run:
        return model_list.fetch(asked, run)


def asked(name: str, reply: Reply) -> list[ListedModel]:
    with running() as server:
        server.model_list = reply
        return ask(provider(name, server.base_url))


def names(name: str, *listed: str) -> list[str]:
    found = known_providers.known_provider(name)
    assert found is not None
    return [model.name for model in model_list.ranked(asked(name, models(*listed)), found)]


def test_the_responses_api_is_preferred_only_at_openai() -> None:
    (openai,) = (one for one in known_providers.KNOWN_PROVIDERS if one.name == "openai")
    assert openai.protocols_at("https://api.openai.com/v1")[0] == "openai_responses"
    assert openai.protocols_at("http://127.0.0.1:9000/v1") == ["openai_native", "openai_responses"]

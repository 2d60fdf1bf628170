"""A first start with only a key in the environment: a model of its provider answers the first message."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.test_main_job import start
from tests.contracts.anthropic import OPUS_5_5
from tests.contracts.contract import StrictProvider
from tests.contracts.gemini import GEMINI
from tests.contracts.openai_chat import GPT_NEWEST
from tests.contracts.said import Said, call, result
from tests.contracts.thinkers import DEEPSEEK
from tests.provider import PAUSE, Received, Reply, models, running
from tests.server import KEYS, Server, migrated
from tests.waiting import until

WORDS = "Here I am: a real model, whose words arrive one after the other."
# Lists of models in each provider's format; tests/llm_app/test_model_lists.py has their sources.
CASES = {
    "OPENAI": (GPT_NEWEST, models("whisper-1", "gpt-4o", "gpt-6.1-sol", "gpt-5.2")),
    "ANTHROPIC": (
        OPUS_5_5,
        models(
            {
                "type": "model",
                "id": "claude-sonnet-5-5",
                "display_name": "Claude Sonnet 5.5",
                "max_input_tokens": 1_000_000,
            },
            {
                "type": "model",
                "id": "claude-opus-5-5",
                "display_name": "Claude Opus 5.5",
                "max_input_tokens": 1_000_000,
            },
            has_more=False,
        ),
    ),
    "GEMINI": (GEMINI, models("models/gemini-embedding-2", "models/gemini-3.1-pro-preview")),
    "DEEPSEEK": (
        DEEPSEEK,
        models({"id": "deepseek-v4-pro", "object": "model", "context_window": 1_048_576, "input_modalities": ["text"]}),
    ),
}


@pytest.fixture
def first_start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Return a server on existing empty tables, as creating them is most of a first start."""
    shutil.copytree(migrated(), tmp_path / "var")
    servers: list[Server] = []

    def start(**environment: str) -> Server:
        servers.append(Server(tmp_path / "var", **KEYS, **environment))
        return servers[-1].start()

    yield start
    for server in servers:
        server.kill()


@pytest.mark.parametrize("name", CASES)
def test_first_message_is_answered_with_streamed_text(name: str, first_start: Callable[..., Server]) -> None:
    contract, listed = CASES[name]
    with running() as fake:
        provider = StrictProvider(contract, fake, contract.protocols[0])
        provider.script = [Said(calls=(call("message", text="ok"),)), result(WORDS)]
        fake.model_list, fake.replies = listed, [lambda received: in_two_halves(provider, received)]
        server = first_start(**{f"{name}_API_KEY": "a-key", f"{name}_BASE_URL": provider.base_url})
        until(
            lambda: f"Test      {contract.model}: It works (" in server.output.read_text().partition("Ready at")[2], 60
        )
        session, task = start(server, "Hello.", model="default")
        deltas = (event["data"] for event in server.events(session) if event["event"] == "delta")
        assert WORDS.startswith(next(delta["text"] for delta in deltas if delta["kind"] == "text" and delta["text"]))
        fake.go_on()
        assert server.until_task(task, state="done")["final_result"]["text"] == WORDS
        calls = server.call("GET", f"tasks/{task}/llm-calls/")["results"]
    assert provider.refusals == []
    assert [(one["status"], one["provider_model"]) for one in calls] == [("succeeded", contract.model)]


def in_two_halves(provider: StrictProvider, received: Received) -> Reply:
    """Send the first half of the text, and the second when the test has seen the first."""
    reply = provider.answer(received)
    half = next((place for place, chunk in enumerate(reply.chunks, 1) if b"real" in chunk), None)
    return reply if half is None else replace(reply, chunks=[*reply.chunks[:half], PAUSE, *reply.chunks[half:]])

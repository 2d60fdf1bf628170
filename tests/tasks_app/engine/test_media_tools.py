"""The whole loop with the tools that ask other models: vision, generate and slides."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from llm_app.models import LLMLog, Route
from tasks_app.models import ContextEntry
from tasks_app.replay.requests import SessionRequests, is_as_sent
from tasks_app.workspace.folders import workspace_of
from tests import factories
from tests.pictures import picture
from tests.provider import Reply, openai_call, openai_result, openai_text
from tests.tasks_app.engine.conftest import Run, call, result

Ask = Callable[..., Run]


def answer(body: bytes, content_type: str = "application/json") -> Reply:
    return Reply(chunks=[body], content_type=content_type)


@pytest.fixture
def maker(http_session: Any) -> Callable[..., Route]:
    """Create a route to a model of another kind, at the same provider."""

    def make(kind: str, **fields: Any) -> Route:
        model = factories.LogicalModelFactory(kind=kind)
        provider = http_session.model.routes.get().provider
        route: Route = factories.RouteFactory(model=model, provider=provider, provider_model=f"{kind}-1", **fields)
        return route

    return make


def offered(request: Any) -> dict[str, Any]:
    """Return the tools of a request: name → properties."""
    return {
        tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in request.body.get("tools", [])
    }


def test_a_picture_is_generated_by_a_side_call(ask_http: Ask, http_provider: Any, maker: Any) -> None:
    maker("image", extra_body={"size": "512x512"}, price={"input": 1, "output": 40})
    made = {
        "data": [{"b64_json": base64.b64encode(picture()).decode()}],
        "usage": {"input_tokens": 5, "output_tokens": 100},
    }
    http_provider.replies = [
        openai_call("generate", {"kind": "image", "prompt": "A red square", "path": "red.png"}),
        answer(json.dumps(made).encode()),
        openai_result(),
    ]
    run = ask_http()
    assert run.advance().state == "done"
    assert run.results()[0][1].startswith("Made red.png (image/png, ")
    assert workspace_of(run.task.session).read_bytes("red.png") == picture()
    assert offered(http_provider.received[0])["generate"]["kind"]["enum"] == ["image", "document"]
    sent = http_provider.received[1]
    assert sent.path == "/v1/images/generations"
    assert sent.body == {
        "model": "image-1",
        "prompt": "A red square",
        "n": 1,
        "response_format": "b64_json",
        "size": "512x512",
    }
    log = LLMLog.objects.get(purpose="generate")
    assert (log.adapter, log.output_tokens, log.task_id) == ("openai_images", 100, run.task.id)
    assert float(log.cost_usd or 0) == pytest.approx((5 * 1 + 100 * 40) / 1e6)
    assert is_as_sent(log, SessionRequests.for_one(log).body(log))


def test_a_sound_is_generated_by_a_side_call(ask_http: Ask, http_provider: Any, maker: Any) -> None:
    maker("audio")
    http_provider.replies = [
        openai_call("generate", {"kind": "audio", "prompt": "Hello", "path": "hello.mp3"}),
        answer(b"ID3\x00\xff sound", "audio/mpeg"),
        openai_result(),
    ]
    run = ask_http()
    assert run.advance().state == "done"
    assert workspace_of(run.task.session).read_bytes("hello.mp3") == b"ID3\x00\xff sound"
    sent = http_provider.received[1]
    assert (sent.path, sent.body["input"], sent.body["voice"]) == ("/v1/audio/speech", "Hello", "alloy")


@pytest.mark.parametrize("body", [b"no json", b'{"data": [{"url": "http://a.example/x.png"}]}', b'{"data": []}'])
def test_an_answer_without_a_picture_fails_the_tool_only(
    ask_http: Ask, http_provider: Any, maker: Any, body: bytes
) -> None:
    maker("image")
    call = openai_call("generate", {"kind": "image", "prompt": "x", "path": "x.png"})
    http_provider.replies = [call, answer(body), openai_result()]
    run = ask_http()
    assert run.advance().state == "done"
    assert run.results()[0][0] == "failed"
    assert not workspace_of(run.task.session).is_file("x.png")


def test_without_a_model_no_kind_of_media_is_offered(ask_http: Ask, http_provider: Any) -> None:
    http_provider.replies = [
        openai_call("generate", {"kind": "image", "prompt": "x", "path": "x.png"}),
        openai_result(),
    ]
    run = ask_http()
    run.advance()
    assert run.results()[0] == ("failed", "No model that makes image files is set up here.")
    assert offered(http_provider.received[0])["generate"]["kind"]["enum"] == ["document"]


def test_a_document_is_written_with_the_models_own_calls(ask_http: Ask, http_provider: Any) -> None:
    http_provider.replies = [
        openai_call("generate", {"kind": "document", "prompt": "Bees", "path": "bees.md"}),
        openai_text("Origins: where from\nLife: how"),
        openai_text("They come from far."),
        openai_text("They live."),
        openai_result(),
    ]
    run = ask_http()
    assert run.advance().state == "done"
    text = workspace_of(run.task.session).read_bytes("bees.md").decode()
    assert text == "## Origins\n\nThey come from far.\n\n## Life\n\nThey live.\n\n"
    assert LLMLog.objects.filter(purpose="generate").count() == 3


def test_vision_asks_a_model_that_sees(ask_http: Ask, http_provider: Any, http_session: Any, maker: Any) -> None:
    maker("text", takes_images=True)
    workspace_of(http_session).write_bytes("red.png", picture())
    http_provider.replies = [
        openai_call("vision", {"path": "red.png", "question": "Which colour?"}),
        openai_text("Red."),
        openai_result(),
    ]
    run = ask_http()
    assert run.advance().state == "done"
    assert run.results()[0] == ("succeeded", "Red.")
    assert http_provider.received[1].body["model"] == "text-1"
    assert LLMLog.objects.get(purpose="vision").status == "succeeded"


def test_without_a_seeing_model_there_is_no_vision(ask_http: Ask, http_provider: Any) -> None:
    http_provider.replies = [openai_call("vision", {"path": "a.png", "question": "?"}), openai_result()]
    run = ask_http()
    run.advance()
    assert run.results()[0] == ("blocked", "The tool vision is not available here.")
    assert "vision" not in offered(http_provider.received[0])


def test_a_deck_is_made_and_its_result_names_the_pages(play: Callable[..., Run]) -> None:
    slides = [{"title": "One", "body": "- a"}, {"title": "Two"}]
    run = play(call("slides", title="Deck", slides=slides, path="deck.html"), result())
    assert run.advance().state == "done"
    entry = ContextEntry.objects.get(
        session=run.task.session, context_type="tool_result", metadata__preview="deck.html"
    )
    assert entry.metadata["pages"] == ["One", "Two"]
    assert workspace_of(run.task.session).is_file("deck.html")


def test_an_ordinary_task_sees_about_fourteen_tools(ask_http: Ask, http_provider: Any) -> None:
    http_provider.replies = [openai_result()]
    ask_http().advance()
    assert 9 <= len(offered(http_provider.received[0])) <= 15

"""Tools that ask a model: with the session's budgets, redaction, logs and interrupts."""

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from llm_app.models import Blob, Budget, LLMLog, Secret
from tasks_app import services
from tests import factories
from tests.provider import openai_call, openai_result, openai_text
from tests.waiting import takes_less_than, until
from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, registry
from tools_app.contract.capabilities import NamedPicture


class ConsultArguments(Arguments):
    question: str
    picture: bool = False


async def consult(arguments: ConsultArguments, context: ToolContext) -> ToolResult:
    shown = [NamedPicture(name="red.png", data=red_png())] if arguments.picture else []
    return ToolResult(content=await context.ask_model(arguments.question, purpose="generate", pictures=shown))


@pytest.fixture(autouse=True)
def _consult_is_a_tool() -> Iterator[None]:
    registry.all_tools()
    registry.tool(
        name="consult", description="Asks.", arguments=ConsultArguments, danger=Danger.SAFE, target=Target.ENGINE
    )(consult)
    yield
    del registry._tools["consult"]


def red_png() -> bytes:
    out = BytesIO()
    Image.new("RGB", (8, 4), "red").save(out, "PNG")
    return out.getvalue()


def test_the_tool_gets_the_models_answer(ask_http: Callable[..., Any], http_provider: Any) -> None:
    http_provider.replies = [openai_call("consult", {"question": "How far?"}), openai_text("Far."), openai_result()]
    run = ask_http()
    assert run.advance().state == "done"
    assert run.results()[0] == ("succeeded", "Far.")
    asked = http_provider.received[1].body
    assert asked["messages"][-1] == {"role": "user", "content": "How far?"}
    assert "tools" not in asked


def test_a_side_call_is_logged_with_its_purpose_and_prompt(ask_http: Any, http_provider: Any) -> None:
    http_provider.replies = [openai_call("consult", {"question": "How far?"}), openai_text("Far."), openai_result()]
    task = ask_http().advance()
    log = LLMLog.objects.get(purpose="generate")
    assert (log.task_id, log.user_id, log.status) == (task.id, task.started_by_id, "succeeded")
    kept = json.loads(Blob.objects.get(pk=log.messages_blob).content)
    assert kept == [{"role": "user", "content": "How far?", "pictures": []}]
    assert task.usage["input_tokens"] == sum(LLMLog.objects.values_list("input_tokens", flat=True))


def test_a_secret_reaches_neither_the_model_nor_the_log(ask_http: Any, http_provider: Any, owner: Any) -> None:
    Secret.objects.create(owner=owner, name="TOKEN", value="s3cr3t-abcdefgh-1234")
    question = {"question": "What is s3cr3t-abcdefgh-1234?"}
    http_provider.replies = [openai_call("consult", question), openai_text("A token."), openai_result()]
    ask_http().advance()
    assert b"s3cr3t-abcdefgh-1234" not in http_provider.received[1].raw
    log = LLMLog.objects.get(purpose="generate")
    assert "s3cr3t-abcdefgh-1234" not in Blob.objects.get(pk=log.messages_blob).content


def test_a_failing_provider_fails_the_tool_and_not_the_task(ask_http: Any, http_provider: Any) -> None:
    refusal = openai_text("", status=400, content_type="application/json")
    http_provider.replies = [openai_call("consult", {"question": "?"}), refusal, openai_result()]
    run = ask_http()
    assert run.advance().state == "done"
    status, content = run.results()[0]
    assert status == "failed"
    assert "refused the request" in content


def test_a_spent_budget_fails_the_tool_before_a_request_is_sent(ask_http: Any, http_provider: Any) -> None:
    http_provider.replies = [openai_call("consult", {"question": "?"}), openai_result()]
    run = ask_http()
    Budget.objects.create(tokens_per_task=110)  # the cost of the first call
    run.advance()
    assert LLMLog.objects.filter(purpose="generate").count() == 0
    assert "budget" in run.results()[0][1]


def test_a_stop_ends_a_tool_with_a_stalled_model(ask_http: Any, http_provider: Any) -> None:
    stalled = openai_text("Never.", stall_at=1)
    http_provider.replies = [openai_call("consult", {"question": "?"}), stalled, openai_result()]
    run = ask_http()
    thread = run.in_thread()
    assert http_provider.stalling.wait(30)
    with takes_less_than(1):
        services.stop(run.task)
        thread.join(30)
    assert http_provider.hung_up.wait(30)
    assert until(lambda: LLMLog.objects.filter(purpose="generate", status="aborted").exists())


def test_a_picture_goes_only_to_a_model_that_sees(ask_http: Any, http_provider: Any, http_session: Any) -> None:
    http_provider.replies = [openai_call("consult", {"question": "Colour?", "picture": True}), openai_result()]
    run = ask_http()
    run.advance()
    assert run.results()[0] == ("failed", "No model that can see pictures is set up here.")
    seeing = factories.RouteFactory(
        provider=http_session.model.routes.get().provider, provider_model="eye", takes_images=True
    )
    http_provider.replies = [
        openai_call("consult", {"question": "Colour?", "picture": True}, call_id="call_2"),
        openai_text("Red."),
        openai_result(),
    ]
    run = ask_http()
    run.advance()
    assert run.results()[-2] == ("succeeded", "Red.")
    log = LLMLog.objects.get(purpose="generate")
    assert (log.model, log.provider_model) == (seeing.model.name, "eye")
    (kept,) = json.loads(Blob.objects.get(pk=log.messages_blob).content)[0]["pictures"]
    assert (kept["path"], kept["width"], kept["height"]) == ("red.png", 8, 4)
    assert Blob.objects.filter(pk=kept["data"]).exists()

"""Tests of all kinds of histories on a real server: a small model continues a task that a large one has begun.

The server and its chat template must refuse no part of such a history.
"""

import time
from collections.abc import Callable
from typing import Any

import pytest

from llm_app.models import LLMLog, LogicalModel
from tests import factories
from tests.contracts import whole_tasks
from tests.contracts.conftest import owner, servers, world  # noqa: F401  fixtures
from tests.contracts.openai_chat import GPT_4
from tests.real.proxy_server import KEY

pytestmark = pytest.mark.real
PROTOCOLS = ("openai_native", "openai_xml", "json_schema")
THROUGH_PROXY = (whole_tasks.many_turns, whole_tasks.compaction)


def small_model(protocol: str, address: str, **limits: int) -> LogicalModel:
    provider = factories.ProviderFactory(protocol=protocol, base_url=address, api_key=KEY, timeout_s=600)
    model = factories.LogicalModelFactory(**limits)
    factories.RouteFactory(model=model, provider=provider, provider_model="smollm2", takes_images=False)
    return model


@pytest.mark.parametrize("task", whole_tasks.ALL, ids=lambda task: task.__name__)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_history_is_refused(
    world: Callable[..., Any],  # noqa: F811
    model_url: str,
    protocol: str,
    task: whole_tasks.WholeTask,
) -> None:
    _goes_on(world, protocol, task, model_url)


@pytest.mark.parametrize("task", THROUGH_PROXY, ids=lambda task: task.__name__)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_history_is_refused_through_a_proxy(
    world: Callable[..., Any],  # noqa: F811
    proxy_url: str,
    protocol: str,
    task: whole_tasks.WholeTask,
) -> None:
    _goes_on(world, protocol, task, f"{proxy_url}/v1")


def _goes_on(world: Callable[..., Any], protocol: str, task: whole_tasks.WholeTask, address: str) -> None:  # noqa: F811
    made = world((GPT_4, protocol))
    task(made)
    made.check()
    earlier = set(LLMLog.objects.values_list("pk", flat=True))
    made.session.refresh_from_db()
    made.session.model = small_model(protocol, address, context_window=8_192, max_output_tokens=100)
    made.session.save()
    began = time.monotonic()
    made.post("Say hello.", max_iterations=1).advance()
    logs = LLMLog.objects.exclude(pk__in=earlier)
    print(
        f"\n{protocol}, {task.__name__}: {time.monotonic() - began:.1f} s, {[log.input_tokens for log in logs]} tokens"
    )
    assert [(log.status, log.error) for log in logs] == [("succeeded", "")] * len(logs) != []


def test_a_window_of_8000_and_constrained_replies(world: Callable[..., Any], model_url: str) -> None:  # noqa: F811
    """Each reply is a call with JSON arguments. The model decides whether they make sense."""
    made = world((GPT_4, "openai_native"))
    made.session.model = small_model("json_schema", model_url, context_window=8_000, max_output_tokens=400)
    made.session.save()
    run = made.post("Write a file with a poem, then say that it is done.", max_iterations=5)
    task = run.advance()
    logs = LLMLog.objects.all()
    print(f"\n{task.state} {task.failure_code} {run.types} {[(log.input_tokens, log.output_tokens) for log in logs]}")
    assert task.failure_code in ("", "max_iterations", "tool_loop")
    assert [(log.status, log.error) for log in logs] == [("succeeded", "")] * len(logs) != []
    assert "no_tool_call_retry" not in run.types

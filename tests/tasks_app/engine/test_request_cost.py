"""The cost of a request does not grow with the history: built parts are reused, and cut entries are not read."""

import time
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from llm_app.call import TargetModel
from llm_app.types import ToolCall, ToolMode
from tasks_app.engine.think import StepRequests
from tasks_app.models import ContextCut, ContextEntry, ContextType, Task
from tasks_app.record import Draft
from tasks_app.record.draft import result
from tasks_app.run import TaskContext
from tasks_app.runtime import process
from tasks_app.workspace.folders import sandbox, workspace_of
from tests import factories
from tools_app.policy import policy_for

LARGE = TargetModel(model="m", tool_mode=ToolMode.NATIVE, context_window=10_000_000, max_tokens=1_000)
SMALL = TargetModel(model="m", tool_mode=ToolMode.NATIVE, context_window=60_000, max_tokens=1_000)


def task_with(owner: Any, turns: int) -> Task:
    session = factories.SessionFactory(owner=owner, model=factories.scripted_model("script"))
    task: Task = factories.TaskFactory(session=session)
    drafts = [Draft(context_type=ContextType.USER_MESSAGE, content="Begin.")]
    for number in range(turns):
        call = ToolCall(id=f"c{number}", name="file", arguments=f'{{"action": "read", "path": "{number}.txt"}}')
        drafts += [Draft(context_type=ContextType.TOOL_CALL, tool_call=call), result(call.id, "x" * 900, "succeeded")]
    factories.append(task, *drafts)
    return task


def running(task: Task) -> TaskContext:
    """Return the context of a worker that has just claimed the task."""
    Task.objects.filter(pk=task.pk).update(lease_owner=process.name())
    context = TaskContext(task, workspace_of(task.session), sandbox())
    context.settings = replace(context.settings, policy=policy_for(task.started_by_id))
    return context


def seconds(context: TaskContext) -> float:
    """Return the seconds for one more request."""
    requests, times = StepRequests(context), []
    requests.prompt_for(LARGE)
    for _ in range(30):
        began = time.perf_counter()
        requests.prompt_for(LARGE)
        times.append(time.perf_counter() - began)
    return min(times)


def test_a_request_at_400_turns_costs_at_most_twice_that_at_50_and_no_query(owner: Any) -> None:
    short, long = (running(task_with(owner, turns)) for turns in (50, 400))
    assert seconds(long) < 2 * seconds(short) + 0.0005
    with CaptureQueriesContext(
        connection,
    ) as queries:
        StepRequests(long).prompt_for(LARGE)
    assert len(queries) == 0


def test_after_a_cut_only_later_entries_are_read(owner: Any) -> None:
    task = task_with(owner, 400)
    context = running(task)
    StepRequests(context).prompt_for(SMALL)
    cut = ContextCut.objects.get()
    behind = ContextEntry.objects.filter(session=task.session, seq__gt=cut.seq, in_context=True).count()
    assert behind < 100
    assert len(context.history.entries) == behind
    assert len(running(task).history.entries) == behind


@pytest.mark.parametrize("again", [LARGE, SMALL])
def test_a_new_worker_sends_the_same_request(owner: Any, again: TargetModel) -> None:
    task = task_with(owner, 200)
    first = running(task)
    sent = [StepRequests(first).prompt_for(recipient) for recipient in (LARGE, SMALL, LARGE)]
    assert sent[0].prompt.messages != sent[1].prompt.messages
    assert sent[0].prompt.messages == sent[2].prompt.messages
    now = StepRequests(running(task)).prompt_for(again)
    before = sent[1] if again is SMALL else sent[2]
    assert now.prompt.messages == before.prompt.messages
    assert now.references == before.references


def test_call_ids_before_the_cut_are_known(owner: Any) -> None:
    task = task_with(owner, 400)
    StepRequests(running(task)).prompt_for(SMALL)
    assert {"c0", "c399"} <= running(task).history.call_ids


def test_replies_without_a_call_are_counted_over_the_cut(owner: Any) -> None:
    task = task_with(owner, 1)
    retry = Draft(context_type=ContextType.NO_TOOL_CALL_RETRY, content="words")
    said = Draft(context_type=ContextType.SYSTEM_REMINDER, content="call a tool")
    factories.append(task, retry, said, retry, said, retry, said)
    context = running(task)
    ContextCut.objects.create(
        session=task.session, task=task, window=1, seq=5, blob="0" * 64, cause="filled", tokens_before=1, tokens_after=1
    )
    behind = running(task)
    assert len(behind.history.entries) == 4
    assert context.history.retries_in_a_row() == behind.history.retries_in_a_row() == 3

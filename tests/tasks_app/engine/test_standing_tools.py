"""The tool list stands still: the requests of a task have the same tools, so that the provider's cache keeps its value.

It changes only with `load_tools`, and with an administrator's settings.
"""

from collections.abc import Callable
from typing import Any

import pytest

from llm_app.models import Blob, LLMLog, LogicalModel, Provider
from llm_app.stored_prompt import load_tools
from tasks_app import services
from tasks_app.engine import step_settings
from tasks_app.models import Agent, ContextCut, ContextEntry, Session, Task
from tasks_app.run import TaskContext
from tasks_app.workspace.folders import sandbox, workspace_of
from tests import factories, pages
from tests.pictures import picture
from tests.tasks_app.engine.conftest import Run, call, result, script
from tools_app.browser.program import chromium_path
from tools_app.models import AllowedAddress, McpServer, ToolSetting

READS = [call("file", action="read", path="long.txt", offset=150 * number + 1) for number in range(12)]
WORK: dict[str, list[dict[str, Any]]] = {
    "a job starts and ends": [
        call("job", action="read", id=1),
        call("shell", command="sleep 60", background=True),
        call("job", action="kill", id=1),
        call("job", action="read", id=1),
    ],
    "the conversation is cut": [call("recall", number=1), *READS, call("recall", number=1)],
    "a picture is read": [call("file", action="read", path="chart.png")],
    "a plan is made": [call("plan", steps=["Look", "Do"]), call("plan", action="advance")],
    "the person is told": [call("message", type="info", text="So far, so good.")],
}


def tool_lists(run: Run) -> list[list[str]]:
    """Return the distinct tool lists of a task's requests, in order, by the names of the tools."""
    logs = LLMLog.objects.filter(task_id=run.task.id).order_by("created_at", "pk")
    lists = dict.fromkeys(log.tools_blob for log in logs)
    return [[tool.name for tool in load_tools(Blob.objects.get(pk=blob).content)] for blob in lists]


def reminders(run: Run) -> list[str]:
    return [entry.content for entry in run.entries if entry.metadata.get("kind") == "tool_list"]


@pytest.mark.parametrize("window", [8_000, 16_000, 128_000])
@pytest.mark.parametrize("work", WORK)
def test_the_work_of_a_task_never_changes_its_tools(play: Callable[..., Run], work: str, window: int) -> None:
    LogicalModel.objects.update(context_window=window)
    run = play(*WORK[work], result())
    workspace_of(run.task.session).write_bytes("chart.png", picture())
    workspace_of(run.task.session).write_bytes("long.txt", b"one more line of a long text\n" * 2_000)
    assert run.advance().state == "done"
    (names,) = tool_lists(run)
    assert {"job", "recall"} <= set(names)
    assert reminders(run) == []
    assert ContextCut.objects.exists() == (work == "the conversation is cut")


@pytest.mark.skipif(not chromium_path(), reason="no Chromium is installed")
def test_an_open_page_changes_no_tools(play: Callable[..., Run]) -> None:
    with pages.serving({"/": "<h1>Apples</h1>"}) as site:
        AllowedAddress.objects.create(address=site.host)
        visit, close = call("browser", action="visit", url=site.url()), call("browser", action="close")
        run = play(call("browser", action="view"), visit, close, result())
        assert run.advance().state == "done"
    assert run.results()[0] == ("failed", "No page is open: it was closed, or none was visited. Use visit first.")
    assert len(tool_lists(run)) == 1
    assert reminders(run) == []


def test_a_recall_in_a_conversation_without_a_cut_answers_with_a_sentence(play: Callable[..., Run]) -> None:
    run = play(call("recall", number=1), result())
    run.advance()
    assert run.results()[0] == ("failed", "Nothing of this conversation is shortened: all of it is above.")


@pytest.mark.parametrize("sees", [True, False])
def test_vision_is_listed_where_only_another_model_sees(play: Callable[..., Run], sees: bool) -> None:
    run = play(result())
    factories.RouteFactory(provider_model="eyes", takes_images=True)
    run.task.session.model.routes.update(takes_images=sees)
    run.advance()
    (names,) = tool_lists(run)
    assert ("vision" in names) is not sees


def test_a_job_is_not_listed_without_a_shell(play: Callable[..., Run]) -> None:
    ToolSetting.objects.create(name="shell", enabled=False)
    run = play(result())
    run.advance()
    (names,) = tool_lists(run)
    assert not {"shell", "job"} & set(names)


@pytest.mark.parametrize(
    ("window", "protocol", "agent", "is_listed"),
    [
        (128_000, "scripted", None, True),
        (16_000, "scripted", None, False),
        (128_000, "openai_xml", None, False),
        (128_000, "scripted", {"delegates": False}, False),
        (16_000, "scripted", {"delegates": True}, True),
    ],
)
def test_able_models_delegate_unless_their_agent_does_not(
    play: Callable[..., Run], window: int, protocol: str, agent: dict[str, bool] | None, is_listed: bool
) -> None:
    LogicalModel.objects.update(context_window=window)
    run = play(result())
    Provider.objects.update(protocol=protocol)
    if agent is not None:
        Session.objects.update(agent=Agent.objects.create(name="Ada", **agent))
    context = TaskContext(run.task, workspace_of(run.task.session), sandbox())
    step_settings.refresh_all(context, context.snapshot(fresh=True))
    assert ("delegate" in context.visible.names) is is_listed


def test_a_delegated_task_delegates_no_further(play: Callable[..., Run]) -> None:
    run = play(call("delegate", tasks=[{"instruction": script(result("A part."))}]), result())
    run.advance()
    child = Run(Task.objects.exclude(pk=run.task.pk).get())
    child.advance()
    assert "delegate" not in tool_lists(child)[0]
    assert "delegate" in tool_lists(run)[0]


def test_a_loaded_group_changes_the_list_once_and_needs_no_reminder(play: Callable[..., Run]) -> None:
    LogicalModel.objects.update(context_window=8_000)
    load, unload = call("load_tools", group="web"), call("load_tools", group="web", unload=True)
    plan = call("plan", action="advance")
    run = play(plan, load, plan, unload, plan, result())
    assert run.advance().state == "done"
    assert run.results()[1][1].startswith("Usable now: search, fetch_url")
    without, loaded = tool_lists(run)
    assert set(loaded) > set(without)
    assert reminders(run) == []


def test_changes_of_an_administrator_are_reported(play: Callable[..., Run], owner: Any) -> None:
    run = play(call("message", type="ask", text="Shall I?"), result())
    run.advance()
    ToolSetting.objects.create(name="search", enabled=False)
    services.reply(run.task, owner, "yes")
    run.advance()
    assert reminders(run) == [
        "Your tools have changed. No longer allowed: `search`. Do not try to do what they did by other means."
    ]


def test_a_server_that_cannot_be_reached_is_named(play: Callable[..., Run]) -> None:
    McpServer.objects.create(name="notes", transport="streamable_http", url="http://a.example/", fault="Refused.")
    run = play(result())
    run.advance()
    system = Blob.objects.get(pk=LLMLog.objects.get(task_id=run.task.id).system_blob).content
    assert "<tool_groups>\n- notes: not reachable now\n</tool_groups>" in system
    assert Session.objects.count() == 1
    assert not ContextEntry.objects.filter(content__contains="load_tools").exists()

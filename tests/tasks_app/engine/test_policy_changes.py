"""Tools that are denied while the model answers or a hook runs: they neither run nor request an approval."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from tasks_app import services
from tasks_app.models import Approval
from tests import factories
from tests.provider import Answer, FakeProvider, Received, Reply, openai_call, openai_result
from tests.tasks_app.engine.conftest import Run, call, result, script
from tests.tasks_app.engine.test_blacklists import EVERY_WAY
from tools_app.hooks.base import Hook
from tools_app.models import McpServer, McpTool, ToolSetting, UserPolicy

WRITE = {"action": "write", "path": "a.txt", "content": "x"}


@pytest.fixture
def answering(http_provider: FakeProvider, ask_http: Callable[..., Run]) -> Callable[..., Run]:
    """Run a task in which a model calls a tool. Something happens before its answer arrives."""

    def run_(meanwhile: Callable[[], object], tool: str = "file", arguments: Any = WRITE) -> Run:
        def answer(received: Received) -> Reply:
            meanwhile()
            return openai_call(tool, arguments)

        first: Answer = answer
        http_provider.replies = [first, openai_result()]
        run = ask_http()
        run.advance()
        return run

    return run_


def wrote(run: Run) -> bool:
    return (run.task.session.workspace_path / "a.txt").exists()


@EVERY_WAY
def test_a_tool_denied_during_the_models_answer_does_not_run(deny: Any, answering: Any, owner: Any) -> None:
    run = answering(lambda: deny(owner))
    assert run.results()[0] == ("blocked", "The tool file is not available here.")
    assert not wrote(run)


@EVERY_WAY
def test_a_denied_tool_requests_no_approval(deny: Any, answering: Any, owner: Any) -> None:
    def meanwhile() -> None:
        ToolSetting.objects.all().delete()
        deny(owner)

    ToolSetting.objects.create(name="file", approval="always")
    run = answering(meanwhile)
    assert run.results()[0][0] == "blocked"
    assert not Approval.objects.exists()


def test_an_approval_required_during_the_models_answer_is_requested(answering: Any) -> None:
    run = answering(lambda: ToolSetting.objects.create(name="file", approval="always"))
    assert run.task.waiting_for == "approval"
    assert not wrote(run)


@pytest.mark.parametrize("change", [{"enabled": False}, None])
def test_a_tool_of_a_server_removed_during_the_models_answer_does_not_run(change: Any, answering: Any) -> None:
    server = McpServer.objects.create(name="notes", transport="stdio", command=["true"])
    McpTool.objects.create(server=server, name="add", schema='{"type": "object"}', digest="d", confirmed="d")
    run = answering(
        lambda: McpServer.objects.update(**change) if change else McpTool.objects.update(digest="changed"),
        "notes__add",
        {},
    )
    assert run.results()[0] == ("failed", run.results()[0][1])
    assert "no tool called 'notes__add'" in run.results()[0][1]


class Slow(Hook):
    """A hook during which an administrator changes settings."""

    name = "slow"

    def before_execution(self, call: Any, around: Any) -> None:
        if call.tool != "message":
            ToolSetting.objects.create(name="file", enabled=False)
            McpTool.objects.update(digest="changed")


@pytest.mark.parametrize("tool", ["file", "notes__add"])
def test_a_tool_disabled_during_a_hook_does_not_run(tool: str, play: Any, settings: Any) -> None:
    settings.HOOKS = [f"{__name__}.Slow"]
    server = McpServer.objects.create(name="notes", transport="stdio", command=["true"])
    McpTool.objects.create(server=server, name="add", schema='{"type": "object"}', digest="d", confirmed="d")
    run = play(call(tool, **WRITE) if tool == "file" else call(tool), result())
    run.advance()
    assert run.results()[0][0] == "blocked"
    assert not wrote(run)


def test_settings_are_read_again_only_after_a_change_or_for_another_person(
    play: Callable[..., Run],
) -> None:
    def reads(run: Run) -> tuple[int, bool]:
        """How often the settings of tools are read, and whether the model was shown a tool that is one's to deny."""
        with CaptureQueriesContext(connection) as asked:
            run.advance()
        times = sum('FROM "tool_settings" ORDER' in query["sql"] for query in asked)
        return times, "file" in run.task.shown_tools

    first = play(result())
    assert reads(first) == (1, True)
    assert reads(play(result())) == (0, True)
    ToolSetting.objects.create(name="file", enabled=False)
    assert reads(play(result())) == (1, False)
    with suppress(ValueError), transaction.atomic():  # the other task has not seen it
        ToolSetting.objects.all().update(enabled=True)
        raise ValueError
    assert reads(play(result())) == (0, False)
    ToolSetting.objects.all().delete()
    assert reads(play(result())) == (1, True)
    other = factories.SessionFactory(model=first.task.session.model)
    UserPolicy.objects.create(user=other.owner, deny=["file"])
    reads(play(result()))
    task = services.post_message(other, other.owner, script(result())).task
    assert task is not None
    assert reads(Run(task)) == (1, False)

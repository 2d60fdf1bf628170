"""A stop during any tool ends it immediately, and no process of the call survives."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks_app import services
from tasks_app.models import ToolCallLog
from tasks_app.runtime import event_loop
from tasks_app.worker import mcp_refresh
from tasks_app.workspace.folders import workspace_of
from tests import factories, pages
from tests.pictures import picture
from tests.processes import below
from tests.provider import openai_call, openai_result
from tests.tasks_app.engine.conftest import Run
from tests.tasks_app.engine.test_background_commands import end_all
from tests.tools_app import mcp_servers
from tests.waiting import check_bound, until
from tools_app.browser.program import chromium_path
from tools_app.models import AllowedAddress, McpServer, McpTool, SearchEngine
from tools_app.sandbox.session_sandboxes import sandboxes

AT_ONCE = 5.0  # seconds; usually a tenth of one, with a margin for a busy machine
BARE = str(Path(mcp_servers.__file__).with_name("bare.py"))
Call = tuple[str, dict[str, Any]]


class Stage:
    """A task that calls tools, on a site and a provider that stall. `before` has already run."""

    def __init__(self, ask: Callable[..., Run], provider: Any, site: pages.Site, session: Any) -> None:
        self._ask, self.provider, self.site, self.session = ask, provider, site, session
        self.before = below(os.getpid())

    def starts_a_process(self) -> bool:
        return bool(below(os.getpid()) - self.before)

    def sleeps(self) -> bool:
        """Return whether the commands of the calls still run."""
        return any(_name(pid) == "sleep" for pid in below(os.getpid()) - self.before)

    def end_sandbox(self) -> None:
        """End the session's sandbox, which outlives its commands."""
        event_loop.submit(sandboxes.end(str(self.session.pk))).result(30)

    def stop_in(self, calls: list[Call], stalled: list[Any], is_under_way: Callable[[], Any]) -> tuple[float, Run]:
        """Stop the task in the last of `calls`, and return the seconds. `stalled` answers the tool's requests."""
        said = [openai_call(*call, call_id=f"call_{number}") for number, call in enumerate(calls)]
        self.provider.replies = [*said, *stalled, openai_result()]
        run = self._ask()
        thread = run.in_thread()
        until(lambda: len(self.provider.received) >= len(calls) and is_under_way())
        began = time.monotonic()
        services.stop(run.task)
        thread.join(30)
        took = time.monotonic() - began
        run.task.refresh_from_db()
        assert (run.task.failure_code, run.task.stopped) == ("stopped", True)
        return took, run


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.fixture
def stage(ask_http: Any, http_provider: Any, http_session: Any, transactional_db: None) -> Iterator[Stage]:
    with pages.serving({}) as site:
        AllowedAddress.objects.create(address=site.host)
        yield Stage(ask_http, http_provider, site, http_session)


def shell(stage: Stage) -> tuple[Any, ...]:
    return [("shell", {"command": "setsid sleep 1000 & sleep 1000"})], [], stage.sleeps


def background(stage: Stage) -> tuple[Any, ...]:
    return [("shell", {"command": "sleep 1000", "background": True})], [], stage.sleeps


def python(stage: Stage) -> tuple[Any, ...]:
    code = "import subprocess\nsubprocess.Popen(['sleep', '1000'])\nsubprocess.run(['sleep', '1000'])"
    return (
        [("shell", {"command": "n = 1", "python": True}), ("shell", {"command": code, "python": True})],
        [],
        stage.sleeps,
    )


def fetch_url(stage: Stage) -> tuple[Any, ...]:
    return [("fetch_url", {"url": stage.site.url("/slow")})], [], stage.site.slow_is_asked.is_set


def search(stage: Stage) -> tuple[Any, ...]:
    SearchEngine.objects.create(name="slow", kind="searxng", base_url=stage.site.url("/slow?"))
    return [("search", {"type": "info", "query": "bees"})], [], stage.site.slow_is_asked.is_set


def browser(stage: Stage) -> tuple[Any, ...]:
    if not chromium_path():
        pytest.skip("no Chromium is installed")
    return [("browser", {"action": "visit", "url": stage.site.url("/slow")})], [], stage.site.slow_is_asked.is_set


def match(stage: Stage) -> tuple[Any, ...]:
    workspace_of(stage.session).write_bytes("long.txt", b"a" * 60)
    return [("match", {"action": "grep", "pattern": "(a|a)*b"})], [], stage.starts_a_process


def slides(stage: Stage) -> tuple[Any, ...]:
    deck = [{"title": f"Slide {number}", "body": "- a line\n" * 500} for number in range(100)]
    return [("slides", {"title": "Bees", "slides": deck, "path": "bees.pptx"})], [], stage.starts_a_process


def vision(stage: Stage) -> tuple[Any, ...]:
    model = factories.LogicalModelFactory(kind="text")
    route = stage.session.model.routes.get()
    factories.RouteFactory(model=model, provider=route.provider, provider_model="sees", takes_images=True)
    workspace_of(stage.session).write_bytes("red.png", picture())
    call = ("vision", {"path": "red.png", "question": "Which colour?"})
    return [call], [openai_result(stall_at=1)], stage.provider.stalling.is_set


def document(stage: Stage) -> tuple[Any, ...]:
    call = ("generate", {"kind": "document", "prompt": "Bees", "path": "bees.md"})
    return [call], [openai_result(stall_at=1)], stage.provider.stalling.is_set


def mcp(stage: Stage) -> tuple[Any, ...]:
    server = McpServer.objects.create(name="notes", transport="stdio", command=[sys.executable, BARE])
    assert mcp_refresh.refresh(server) == ""
    server.tools.exclude(name="hang").delete()
    return (
        [("notes__hang", {})],
        [],
        lambda: len(below(os.getpid()) - stage.before) > 1,
    )  # our process, and the server itself


def arguments(stage: Stage) -> tuple[Any, ...]:
    """A call that has not begun: its arguments are checked against an endless pattern."""
    server = McpServer.objects.create(name="notes", transport="stdio", command=["/no/such/program"])
    schema = json.dumps({"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}})
    McpTool.objects.create(server=server, name="t", schema=schema, digest="x", confirmed="x")
    return [("notes__t", {"a": "a" * 40 + "!"})], [], stage.starts_a_process


def job(stage: Stage) -> tuple[Any, ...]:
    calls = [
        ("shell", {"command": "sleep 1000", "background": True}),
        ("job", {"action": "read", "id": 1, "wait_s": 60}),
    ]
    return calls, [], ToolCallLog.objects.filter(name="job", status="started").exists


TOOLS = [shell, background, python, fetch_url, search, browser, match, slides, vision, document, mcp, arguments]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.__name__)
def test_a_stop_ends_a_tool_immediately_and_leaves_no_process(stage: Stage, tool: Any) -> None:
    took, run = stage.stop_in(*tool(stage))
    print(f"{took:.3f} s")
    assert run.results()[-1][0] == "interrupted"
    check_bound(took, AT_ONCE)
    until(lambda: not stage.sleeps())
    stage.end_sandbox()
    until(lambda: below(os.getpid()) <= stage.before)


def test_a_stop_during_a_read_does_not_end_the_job(stage: Stage) -> None:
    took, run = stage.stop_in(*job(stage))
    print(f"{took:.3f} s")
    assert run.results()[-1][0] == "interrupted"
    check_bound(took, AT_ONCE)
    assert stage.sleeps()
    end_all(str(run.task.session_id))
    until(lambda: not stage.sleeps())
    stage.end_sandbox()
    until(lambda: below(os.getpid()) <= stage.before)

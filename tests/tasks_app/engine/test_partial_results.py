"""Results of calls that were ended early: their output so far, and the files that they changed."""

import re
import sys
from typing import Any

import pytest

from tasks_app import services
from tasks_app.engine import run_tool
from tasks_app.models import ToolCallLog
from tasks_app.runtime import event_loop, stream_buffer
from tasks_app.worker import mcp_refresh
from tasks_app.workspace.folders import workspace_of
from tests.provider import openai_call, openai_result
from tests.tasks_app.engine import test_interrupts_in_tools as interrupts
from tests.tasks_app.engine.conftest import call, result
from tests.tasks_app.engine.test_background_commands import end_all
from tests.tasks_app.engine.test_crashes import crash
from tests.tasks_app.engine.test_interrupts_in_tools import Stage, browser, stage
from tests.waiting import until
from tools_app.models import McpServer

__all__ = ["stage"]
WORK = "echo old > kept.txt; seq 400000; echo new > made.txt; echo last words; sleep 1000"


def is_made(stage: Stage) -> bool:
    return workspace_of(stage.session).is_file("made.txt") and stage.sleeps()


def test_a_stopped_command_reports_its_output_and_files(stage: Stage) -> None:
    took, run = stage.stop_in([("shell", {"command": WORK})], [], lambda: is_made(stage))
    print(f"{took:.3f} s")
    status, text = run.results()[-1]
    assert status == "interrupted"
    assert re.match(
        r"Interrupted by the user after \d+\.\d s, before it was done\. Its output until then:\n1\n2\n", text
    )
    assert re.search(r"of 400,001 lines \([\d,]+ of [\d,]+ bytes\) of output were not kept", text)
    *_, number, words, files = text.splitlines()
    assert (number, words) == ("400000", "last words")
    assert files == "[files that it had changed by then: kept.txt (new), made.txt (new)]"


def test_an_interrupted_command_reports_its_output_and_files(stage: Stage, owner: Any) -> None:
    stage.provider.replies = [openai_call("shell", {"command": WORK}), openai_result()]
    run = stage._ask()
    thread = run.in_thread()
    until(lambda: is_made(stage))
    services.post_message(run.task.session, owner, "What have you got so far?")
    thread.join(30)
    status, text = run.results()[0]
    assert status == "interrupted"
    assert "\n400000\nlast words\n" in text
    assert "made.txt (new)" in text


def test_a_command_out_of_time_names_the_files_that_it_changed(play: Any) -> None:
    first = call("shell", command="echo a > a.txt; echo b > b.txt")
    run = play(first, call("shell", command="echo x >> a.txt; rm b.txt; echo at it; sleep 100", timeout_s=1), result())
    run.advance()
    status, text = run.results()[1]
    assert status == "failed"
    assert text.startswith("at it\n[killed after 1 s]\n")
    assert text.endswith("[files that it had changed by then: a.txt (changed), b.txt (deleted)]")
    assert "files that" not in run.results()[0][1]


def test_the_result_after_a_crash_names_changed_files(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = play(call("shell", command="true"), result())

    crash(run, monkeypatch, run_tool, "tool_context")
    workspace_of(run.task.session).write_bytes("half.txt", b"x")
    run.advance()
    status, text = run.results()[0]
    assert status == "unknown"
    assert text.endswith("before you repeat it.\n[files that it had changed by then: half.txt (new)]")


def test_an_interrupted_read_of_a_job_names_its_output(stage: Stage) -> None:
    _, run = stage.stop_in(*interrupts.job(stage))
    assert "[job 1 is running; what it prints is there for the next read]" in run.results()[-1][1]
    end_all(str(run.task.session_id))


def test_a_page_that_was_being_loaded_is_named(stage: Stage) -> None:
    _, run = stage.stop_in(*browser(stage))
    assert f"[{stage.site.url('/slow')} was being loaded; the page had got to " in run.results()[-1][1]


def test_the_progress_of_an_mcp_server_is_reported(stage: Stage) -> None:
    server = McpServer.objects.create(name="notes", transport="stdio", command=[sys.executable, interrupts.BARE])
    assert mcp_refresh.refresh(server) == ""
    server.tools.exclude(name="work").delete()
    _, run = stage.stop_in([("notes__work", {})], [], lambda: has_said(run_of(stage), "read 3 of 9"))
    assert run.results()[-1][1].endswith("Its output until then:\nread 3 of 9 files")


def run_of(stage: Stage) -> Any:
    return stage.session.tasks.get()


def has_said(task: Any, words: str) -> bool:
    chunks = event_loop.submit(stream_buffer.store.chunks_of(task.pk)).result(10)
    return any(words in chunk.text for chunk in chunks)


def test_the_status_of_the_log_is_interrupted(stage: Stage) -> None:
    stage.stop_in([("shell", {"command": "sleep 1000"})], [], stage.sleeps)
    assert ToolCallLog.objects.get().status == "interrupted"

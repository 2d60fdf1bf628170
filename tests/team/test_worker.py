"""The engine's loop in a Celery worker, on a real PostgreSQL and Redis."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.test_kill_and_restart import check_record
from tests.acceptance.test_main_job import ANSWER, start
from tests.provider import openai_result, running
from tests.server import ROOT
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import takes_less_than, until

pytestmark = pytest.mark.team
OVER_HTTP = """
providers: [{{name: far, protocol: openai_native, base_url: "{url}", api_key: a-key-for-tests}}]
models: [{{name: far, providers: [{{provider: far, model: some-model, priority: 1}}]}}]
"""


def test_worker_runs_the_main_job_and_the_web_streams_it(new_team):
    team = new_team
    assert _peak(team.server.process.pid) < 180  # a subprocess has migrated its empty database
    team.start_worker()
    write = call("file", action="write", path="hello.txt", content="Hello.\n")
    session, task = start(team.server, script(write, {**result(ANSWER), "pace": 0.05}))
    texts = []
    for event in team.server.events(session):
        if event["event"] == "delta" and event["data"]["kind"] == "text":
            texts.append(event["data"]["text"])
        if event["event"] == "state" and event["data"]["state"] == "done":
            break
    assert len(texts) > 1
    assert ANSWER.startswith("".join(texts))
    assert team.server.raw(f"sessions/{session}/files/hello.txt") == b"Hello.\n"
    check_record(team.server, session)
    assert team.server.task(task)["state"] == "done"


def test_stop_and_interjection_reach_the_running_worker(team):
    team.start_worker()
    team.start_worker()
    session, task = start(team.server, script(call("shell", command="sleep 60"), {**result(), "stall": 60}))
    team.server.until_task(task, state="executing_tool")
    with takes_less_than(5):  # the command sleeps a minute; tests of the engine measure exact times
        team.server.call("POST", f"sessions/{session}/messages/", {"content": "Go on without it."})
        team.server.until_task(task, state="thinking")
    team.server.call("POST", f"tasks/{task}/stop/")
    team.server.until_task(task, state="failed")
    check_record(team.server, session)


def test_task_waits_for_a_worker_and_survives_its_death(team):
    session, task = start(team.server, script(call("shell", command="sleep 30"), result("I looked.")))
    first = team.start_worker()
    team.server.until_task(task, state="executing_tool")
    first.kill()
    first.wait()
    team.start_worker()
    assert team.server.until_task(task, state="done")["final_result"]["text"] == "I looked."
    check_record(team.server, session)
    statuses = [e["metadata"].get("status") for e in team.server.entries(session) if e["tool_call_id"]]
    assert statuses == ["unknown", "succeeded"]


def test_drained_worker_finishes_its_step_and_another_continues(team):
    team.start_worker()
    waits = call("shell", command="while [ ! -e go ]; do sleep 0.1; done")
    session, task = start(team.server, script(waits, call("shell", command="echo second"), result()))
    team.server.until_task(task, state="executing_tool")
    drain = [sys.executable, "manage.py", "drain"]
    with subprocess.Popen(drain, cwd=ROOT, env=team.server.environment, stdout=subprocess.PIPE, text=True) as draining:
        assert draining.stdout.readline() == "1 tasks finish their step …\n"
        until(lambda: "draining" in team.server.output.read_text())
        (team.server.var / "workspaces" / session / "go").touch()
        assert draining.stdout.read() == "Idle, and taking nothing new: 1. Stop them, or start them anew.\n"
        assert draining.wait(60) == 0
    assert _results(team, session) == ["succeeded"]
    _, other = start(team.server, script(result()))
    team.start_worker()
    for each in (task, other):
        team.server.until_task(each, state="done")
    assert _results(team, session) == ["succeeded", "succeeded", "succeeded"]
    check_record(team.server, session)


def _results(team, session):
    return [entry["metadata"].get("status") for entry in team.server.entries(session) if entry["tool_call_id"]]


def test_ended_worker_leaves_no_connection_open(team, tmp_path):
    with running() as provider:
        provider.replies = [openai_result("Done.")]
        (tmp_path / "far.yml").write_text(OVER_HTTP.format(url=provider.base_url))
        configure = [sys.executable, "manage.py", "configure", str(tmp_path / "far.yml")]
        subprocess.run(configure, cwd=ROOT, env=team.server.environment, check=True, capture_output=True)
        before = len(team.server.output.read_text())
        worker = team.start_worker()
        _, task = start(team.server, "Go.", model="far")
        team.server.until_task(task, state="done")
        worker.terminate()
        assert worker.wait(60) == 0
    said = team.server.output.read_text()[before:]
    assert "Warm shutdown" in said
    assert "Unclosed" not in said
    assert "Traceback" not in said


def _peak(pid: int) -> int:
    """Return the peak memory in MiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) // 1024

"""The record of a team's deployment: requests from PostgreSQL can be rebuilt byte for byte."""

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.test_main_job import start
from tests.tasks_app.engine.conftest import call, result, script
from tests.team.test_operation import manage
from tests.waiting import until

pytestmark = pytest.mark.team

SMALL = "models: [{name: small, context_window: 16000, providers: [{provider: scripted, model: script}]}]"
ODD = "a\0b, ö, \U0001f600, \\u0000 and \t so on"
LONG = [call("shell", command=rf"printf 'ö\0\\u0000 '; seq {n} 2000") for n in range(10)]


def test_replay_verifies_cuts_interjections_and_forks_on_postgresql(team: Any, tmp_path: Path) -> None:
    (tmp_path / "small.yml").write_text(SMALL)
    assert manage(team, "configure", str(tmp_path / "small.yml")).returncode == 0
    team.start_worker()
    odd = call("file", path="a.txt", content=ODD, action="write", unknown={"z": 1, "b": [1.0, 1e21]})
    words = script(odd, *LONG[:5], call("shell", command="sleep 61"), *LONG[5:], call("match"), result())
    session, task = start(team.server, words, model="small")
    until(lambda: _calls(team, session) == 7, 60)
    team.server.call("POST", f"sessions/{session}/messages/", {"content": "Go on. \U0001f600"})
    team.server.until_task(task, 60, state="done")
    entries = team.server.entries(session)
    assert any(entry["metadata"].get("kind") == "cut" for entry in entries)
    inside = [entry["seq"] for entry in entries if entry["tool_call"]][-3]
    for seq in (inside, entries[-1]["seq"]):
        fork = team.server.call("POST", f"tasks/{task}/fork/", {"seq": seq})["id"]
        said = team.server.call("POST", f"sessions/{fork}/messages/", {"content": script(result("From here."))})
        team.server.until_task(said["task"], 60, state="done")
    proof = manage(team, "replay", "--all", "--verify")
    assert proof.returncode == 0, proof.stdout
    assert "0 mismatches" in proof.stdout
    assert "3 chains" in proof.stdout


def _calls(team: Any, session: str) -> int:
    return sum(entry["tool_call"] is not None for entry in team.server.entries(session))

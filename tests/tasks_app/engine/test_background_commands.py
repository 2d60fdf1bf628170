"""A command in the background belongs to its session: the next step reads it, and what a restart ends is said."""

import os

import pytest

from tasks_app import services
from tasks_app.events import event_loop
from tasks_app.models import Task
from tasks_app.run import affinity as engine_holding
from tests.processes import below
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import until
from tools_app import held_resources
from tools_app.sandbox.session_sandboxes import sandboxes
from tools_app.shell.background_jobs import jobs


def end_all(session):
    """As a restart does: the processes are gone, and what this process knew of them."""

    async def end():
        for job in jobs.jobs_of(session):
            await job.end()
            jobs.forget(session, job.number)

    event_loop.submit(end()).result(30)


def test_a_later_step_reads_and_ends_it(play):
    start = call("shell", command="echo up; sleep 1000", background=True)
    run = play(start, call("job", action="kill", id=1), result())
    assert run.advance().state == "done"
    assert [status for status, _ in run.results()[:2]] == ["succeeded", "succeeded"]
    assert "[job 1 was ended]" in run.results()[1][1]  # behind what it had written by then
    assert not held_resources.held_for(str(run.task.session_id))


def test_the_tool_is_there_only_while_one_runs(play):
    run = play(call("job", action="read", id=1), result())
    run.advance()
    assert run.results()[0][0] == "blocked"


def test_the_next_result_after_a_restart_says_that_it_is_gone(play, owner):
    run = play(call("shell", command="sleep 1000", background=True), result())
    run.advance()
    session = run.task.session
    assert session.tasks.model.objects.get(pk=run.task.pk).session.held == {"job 1": "the background command 1"}
    end_all(str(session.pk))
    look = call("file", action="list", path=".")
    run.task = services.post_message(session, owner, script(look, look, result())).task
    run.advance()
    assert "[Gone: the background command 1." in run.results()[-3][1]
    assert sum("[Gone:" in text for _, text in run.results()) == 1


@pytest.mark.parametrize("by", ["us", "another process"])
def test_it_ends_with_its_session(play, by):
    run = play(call("shell", command="sleep 1000", background=True), result())
    before = below(os.getpid())
    run.advance()
    session, name, folder = run.task.session, str(run.task.session_id), run.task.session.workspace_path
    assert session.home_path.is_dir()
    assert held_resources.held_for(name)
    if by == "us":
        services.delete_session(session)
        assert not folder.exists()
        assert not session.home_path.exists()
    else:
        type(session).objects.all().delete()
        engine_holding.release_deleted()
    assert not held_resources.held_for(name)
    assert name not in sandboxes.sessions()
    until(lambda: below(os.getpid()) <= before)


def test_an_idle_sandbox_ends_when_another_process_runs_its_session(play):
    run = play(call("shell", command="true"), result())
    run.advance()
    name = str(run.task.session_id)
    if not sandboxes.sessions():
        pytest.skip("no bubblewrap here")
    engine_holding.release_taken()
    assert name in sandboxes.sessions()
    assert run.task.session.held_by == ""
    Task.objects.filter(pk=run.task.pk).update(lease_owner="other-host:worker")
    engine_holding.release_taken()
    assert name not in sandboxes.sessions()

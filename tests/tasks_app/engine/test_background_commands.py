"""Background commands: they belong to their session, later steps read them, and lost ones are reported."""

import os
import re

import pytest

from tasks_app import services
from tasks_app.models import Task
from tasks_app.run import affinity as engine_holding
from tasks_app.runtime import event_loop
from tasks_app.services import forks
from tests.processes import below
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import until
from tools_app import held_resources
from tools_app.sandbox.session_sandboxes import sandboxes
from tools_app.shell.background_jobs import jobs


def end_all(session):
    """End all jobs as a restart does: the processes are gone, and so is this process's knowledge of them."""

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
    assert "[job 1 was ended]" in run.results()[1][1]  # after the output so far
    assert not held_resources.resources_of(str(run.task.session_id))


def test_the_job_tool_without_a_job_answers_with_a_sentence(play):
    run = play(call("job", action="read", id=1), result())
    run.advance()
    assert run.results()[0] == ("failed", "There is no job 1. Jobs of this session: none.")


def test_the_next_result_after_a_restart_reports_lost_jobs(play, owner):
    run = play(call("shell", command="sleep 1000", background=True), result())
    run.advance()
    session = run.task.session
    assert session.tasks.model.objects.get(pk=run.task.pk).session.held == {"job 1": "the background command 1"}
    end_all(str(session.pk))
    look = call("file", action="list", path=".")
    run.task = services.post_message(session, owner, script(look, look, result())).task
    run.advance()
    assert ends_told(run) == ["Job 1 is gone: it was unused too long, or the server was restarted."]
    session.refresh_from_db()
    assert session.held == {}


def ends_told(run):
    return [entry.content for entry in run.entries if entry.metadata.get("kind") == "jobs_ended"]


def test_the_end_of_a_job_is_reported_once_before_the_next_step(play, owner):
    start = call("shell", command="sleep 1.5; echo last words; exit 3", background=True)
    wait = call("shell", command="sleep 3")
    look = call("file", action="list", path=".")
    run = play(start, wait, look, call("job", action="read", id=1), result())
    run.advance()
    (told,) = ends_told(run)
    assert re.fullmatch(
        r"Job 1 ended with exit code 3 after \d\.\d s\. The output that you have not read yet is there: `job` with "
        r"action read, id 1\.",
        told,
    )
    kinds = [entry.metadata.get("kind") or entry.context_type for entry in run.entries]
    assert kinds[kinds.index("jobs_ended") - 1 :][:2] == ["tool_result", "jobs_ended"]
    assert run.results()[3][1].startswith("last words\n[job 1 ended with exit code 3 after ")
    assert run.task.session.held == {}


def test_the_end_of_a_job_between_two_tasks_is_reported_after_a_restart(play, owner):
    """The end is stored when it happens, as the server may stop before anybody asks."""
    run = play(call("shell", command="sleep 1.5; exit 3", background=True), result())
    run.advance()
    session = run.task.session
    until(lambda: "ended job 1" in type(session).objects.get(pk=session.pk).held)
    end_all(str(session.pk))
    run.task = services.post_message(session, owner, script(call("file", action="list", path="."), result())).task
    run.advance()
    run.task = services.post_message(session, owner, script(result())).task
    run.advance()
    (told,) = ends_told(run)
    assert re.fullmatch(r"Job 1 ended with exit code 3 after \d\.\d s\.", told)


def test_job_numbers_are_not_reused(play, owner):
    short = call("shell", command="exit 1", background=True)
    run = play(short, call("shell", command="sleep 1000", background=True), call("job", action="kill", id=2), result())
    run.advance()
    assert [text.partition(" ended")[0] for _, text in run.results()[:1]] == ["[job 1"]
    assert run.results()[1][1].startswith("[job 2 is running")
    end_all(str(run.task.session_id))
    run.task = services.post_message(run.task.session, owner, script(short, result())).task
    run.advance()
    assert run.results()[-2][1].startswith("[job 3 ended")
    assert forks.fork(run.task.session, 0, owner).last_job == 3


def test_a_flooding_job_is_bounded_and_reports_lost_output(play):
    flood = call("shell", command="yes words that nobody reads", background=True)
    run = play(flood, call("shell", command="sleep 1"), call("job", action="kill", id=1), result())
    run.advance()
    for _, text in (run.results()[0], run.results()[2]):
        assert re.search(r"[\d,]+ of [\d,]+ lines \([\d,]+ of [\d,]+ bytes\) of output were not kept", text)
    results = run.task.session.workspace_path / ".results"
    assert [path.name.endswith(".clipped.txt") for path in results.iterdir()] == [True, True]
    assert all(path.stat().st_size < 300_000 for path in results.iterdir())


@pytest.mark.parametrize("by", ["us", "another process"])
def test_jobs_end_with_their_session(play, by):
    run = play(call("shell", command="sleep 1000", background=True), result())
    before = below(os.getpid())
    run.advance()
    session, name, folder = run.task.session, str(run.task.session_id), run.task.session.workspace_path
    assert session.home_path.is_dir()
    assert held_resources.resources_of(name)
    if by == "us":
        services.delete_session(session)
        assert not folder.exists()
        assert not session.home_path.exists()
    else:
        type(session).objects.all().delete()
        engine_holding.release_deleted()
    assert not held_resources.resources_of(name)
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

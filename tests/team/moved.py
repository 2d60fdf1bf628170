"""One stage of a move between databases: a task waits on one database and is answered on another.

python -m tests.team.moved begin TO | go-on FROM TO | end FROM
"""

import json
import os
import sys
from pathlib import Path

import django
import psycopg
import pytest
from django.core.management import CommandError, call_command

OWNER = 12_345  # owner of a file, preserved if root makes and restores the backup
SECRET = "hunter2-hunter2"


def begin(to: str) -> None:
    """Create two tasks that wait for an approval, and one that was running when its worker died."""
    from llm_app.models import Secret
    from tasks_app import services
    from tests import factories
    from tests.tasks_app.engine.conftest import call, result, script
    from tools_app.models import ToolSetting

    olga = factories.UserFactory(username="olga")
    Secret.objects.create(owner=olga, name="OWN", value=SECRET)
    ToolSetting.objects.create(name="file", approval="always")
    model = factories.scripted_model("script")
    for path in ("first.txt", "second.txt"):
        session = factories.SessionFactory(owner=olga, model=model, title=path)
        asks = call("file", action="write", path=path, content="ü\0 and [secret:OWN]")
        task = services.post_message(session, olga, script(asks, result())).task
        assert task
        _advance(task)
        assert task.waiting_for == "approval"
    kept = session.workspace_path / "kept"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text("kept")
    kept.chmod(0o741)
    if os.geteuid() == 0:
        os.chown(kept, OWNER, OWNER)
    call_command("backup", to)


def go_on(origin: str, to: str) -> None:
    _refuse_another_version(Path(origin, "manifest.json"))
    _refuse_beside_a_web(origin)
    call_command("restore", origin)
    _approve("first.txt")
    call_command("backup", to)


def _refuse_another_version(manifest: Path) -> None:
    """Check that a backup of another version is rejected, as the tables here have the newest migrations."""
    said = manifest.read_text()
    older = [[app, "0001_initial"] for app, _ in json.loads(said)["migrations"]]
    manifest.write_text(json.dumps(json.loads(said) | {"migrations": older}))
    with pytest.raises(CommandError, match="the tables here are of another one"):
        call_command("restore", str(manifest.parent))
    manifest.write_text(said)


def _refuse_beside_a_web(origin: str) -> None:
    """Check that a restore is rejected while another process, such as a web, is connected."""
    with psycopg.connect(os.environ["DATABASE_URL"], application_name="agentsite@elsewhere:1"):
        with pytest.raises(CommandError, match="agentsite@elsewhere:1. Stop all webs and workers."):
            call_command("restore", origin)


def end(origin: str) -> None:
    call_command("restore", origin)
    from llm_app.models import Secret
    from tasks_app.models import Session
    from tests import factories

    _approve("second.txt")
    assert Secret.objects.get(name="OWN").value == SECRET
    kept = (Session.objects.get(title="second.txt").workspace_path / "kept").stat()
    assert kept.st_mode & 0o777 == 0o741
    assert os.geteuid() or (kept.st_uid, kept.st_gid) == (OWNER, OWNER)
    for session in Session.objects.all():
        assert (session.workspace_path / session.title).read_text() == f"ü\0 and {SECRET}"
    assert factories.UserFactory().pk > Session.objects.first().owner_id  # the sequence continues
    call_command("replay", all=True, verify=True)


def _approve(title: str) -> None:
    from tasks_app import services
    from tasks_app.models import Task

    task = Task.objects.get(session__title=title)
    services.decide(task, task.started_by, "approved")
    _advance(task)
    assert task.state == "done", (task.state, task.failure_detail)


def _advance(task: object) -> None:
    from tasks_app.worker import jobs

    jobs.advance(task.pk)
    task.refresh_from_db()


if __name__ == "__main__":
    os.umask(0o077)
    Path(os.environ["AGENTSITE_VAR"]).mkdir(exist_ok=True)
    django.setup()
    {"begin": begin, "go-on": go_on, "end": end}[sys.argv[1]](*sys.argv[2:])

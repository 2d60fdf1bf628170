"""A Python whose variables stay: it belongs to its session, its loss is reported, and secrets are masked."""

import json
import os

from llm_app.models import Blob, LLMLog, Secret
from tasks_app import services
from tasks_app.models import ToolCallLog
from tasks_app.replay import verification
from tasks_app.runtime import event_loop
from tests.processes import below
from tests.tasks_app.engine.conftest import call, result, script
from tests.waiting import until
from tools_app import held_resources
from tools_app.files import snapshot
from tools_app.sandbox.session_sandboxes import sandboxes
from tools_app.shell.python_process import pythons

VALUE = "pa$$word-'0a1B\"2c"


def python(code):
    return call("shell", command=code, python=True)


def test_a_table_is_read_once_for_several_steps_and_tasks(play, owner):
    make = "import csv\nwith open('t.csv', 'w') as f:\n    csv.writer(f).writerows([n, n % 7] for n in range(50_000))"
    read = "import csv\nrows = [(int(a), int(b)) for a, b in csv.reader(open('t.csv'))]\nlen(rows)"
    run = play(python(make), python(read), python("sum(b for _, b in rows)"), result())
    assert run.advance().state == "done"
    made, count, total, *_ = [text for _, text in run.results()]
    assert made.endswith("; a new Python: no earlier variables]")
    assert count.startswith("50000\n[exit code 0, ")
    assert total.startswith("149997\n[exit code 0, ")
    run.task = services.post_message(run.task.session, owner, script(python("rows[-1]"), result())).task
    assert run.advance().state == "done"
    assert run.results()[-2][1].startswith("(49999, 5)\n[exit code 0, ")
    assert verification.of_session(run.task.session).is_whole


def test_the_tool_list_stays_as_it_is(play):
    run = play(python("n = 1"), python("n"), result())
    run.advance()
    assert len(set(LLMLog.objects.filter(task_id=run.task.id).values_list("tools_blob", flat=True))) == 1


def test_the_next_result_after_a_restart_reports_the_loss(play, owner):
    run = play(python("n = 1"), result())
    run.advance()
    session = run.task.session
    session.refresh_from_db()
    assert session.held == {"python": "the Python with its variables"}
    event_loop.submit(pythons.end(str(session.pk))).result(30)
    run.task = services.post_message(session, owner, script(python("n"), python("1"), result())).task
    run.advance()
    lost, after = [text for _, text in run.results()][-3:-1]
    assert "NameError: name 'n' is not defined" in lost
    assert "a new Python: no earlier variables]" in lost
    assert "[Gone: the Python with its variables. It was idle too long, or the server was restarted.]" in lost
    assert "Gone" not in after


def test_secrets_are_values_in_the_code_and_placeholders_everywhere_else(play, owner):
    Secret.objects.create(owner=owner, name="TOKEN", value=VALUE)
    run = play(python("open('out.txt', 'w').write('[secret:TOKEN]')\nprint(f'it is [secret:TOKEN]')\n1/0"), result())
    run.advance()
    assert (run.task.session.workspace_path / "out.txt").read_text() == VALUE
    output = run.results()[0][1]
    assert output.startswith("it is [secret:TOKEN]\nTraceback")
    assert "[secret:TOKEN]" in json.loads(ToolCallLog.objects.get(name="shell").arguments)["command"]
    assert not any(VALUE in repr(vars(entry)) for entry in run.entries)
    assert not any(VALUE in blob.content for blob in Blob.objects.all())


def test_code_that_deletes_a_folder_waits_for_a_person(play, owner):
    fills = f"import os; os.makedirs('src'); open('src/a', 'wb').write(bytes({snapshot.MAX_FILE_BYTES + 1}))"
    run = play(python(fills), python("import shutil; shutil.rmtree('src')"), result())
    task = run.advance()
    assert (run.task.session.workspace_path / "src").exists()
    assert (task.state, task.waiting_for) == ("executing_tool", "approval")
    services.decide(task, owner, "approved")
    assert run.advance().state == "done"
    assert not (run.task.session.workspace_path / "src").exists()


def test_it_ends_with_its_session(play):
    run = play(python("import subprocess; subprocess.Popen(['sleep', '1000']) and None"), result())
    before = below(os.getpid())
    run.advance()
    name = str(run.task.session_id)
    assert below(os.getpid()) - before
    services.delete_session(run.task.session)
    assert not held_resources.resources_of(name)
    assert name not in sandboxes.sessions()
    until(lambda: below(os.getpid()) <= before)

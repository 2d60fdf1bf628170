"""`run_agent` with delegated tasks, which no other process advances."""

from django.core.management import call_command

from tasks_app.models import Task
from tests import factories
from tests.tasks_app.engine.conftest import call, result, script


def test_task_continues_after_its_delegated_tasks(transactional_db, capsys):
    factories.UserFactory(username="olga")
    model = factories.scripted_model("script")
    child = script(call("file", action="read", path="parent/data.txt"), result("Read it."))
    delegate = call("delegate", tasks=[{"instruction": child}])
    write = call("file", action="write", path="data.txt", content="42")
    call_command("run_agent", script(write, delegate, result("All is done.")), "--user", "olga", "--model", model.name)
    assert capsys.readouterr().out.endswith("\nAll is done.\n")
    part = Task.objects.get(parent_call__isnull=False)
    assert part.state == "done"
    assert any("42" in entry.content for entry in part.session.entries.filter(context_type="tool_result"))

"""Calls in the words of other harnesses run, and the record tells what was changed."""

from collections.abc import Callable

from tasks_app.models import ToolCallLog
from tests.tasks_app.engine.conftest import Run, call, result


def test_a_clear_call_runs_and_its_changes_are_noted(play: Callable[..., Run]) -> None:
    run = play(
        call("file", command="create", file_path="a.txt", file_text="one\n"),
        call("bash", cmd=["cat", "a.txt"], timeout=1000),
        call("file", action="str_replace", path="a.txt", old_str="one", new_str="two"),
        result(),
    )
    assert run.advance().state == "done"
    assert [status for status, _ in run.results()][:3] == ["succeeded"] * 3
    written, printed, edited, _ = ToolCallLog.objects.filter(task=run.task).order_by("pk")
    assert (written.name, printed.name) == ("file", "shell")
    assert printed.arguments == '{"command": "cat a.txt", "timeout_s": 600, "background": false}'
    remarks = [remark["said"] for remark in printed.remarks if remark["by"] == "coerced"]
    assert remarks == ["cmd → command; timeout → timeout_s; timeout_s: 1000 → 600; command: cat a.txt"]
    call_entry = next(entry for entry in run.entries if entry.call and entry.call["name"] == "shell")
    assert call_entry.metadata["called_as"] == "bash"
    assert '"cmd"' in call_entry.call["arguments"]  # the record keeps the call's own words
    assert edited.remarks


def test_a_foreign_tool_costs_one_sentence(play: Callable[..., Run]) -> None:
    run = play(call("read_file", path="a.txt"), result())
    assert run.advance().state == "done"
    assert run.results()[0][1].startswith("There is no tool called 'read_file'. Use `file` with the action read.")

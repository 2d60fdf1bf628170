"""Calls in the words of other harnesses run, and the record tells what was changed."""

from collections.abc import Callable
from pathlib import Path

from tasks_app.models import Session, ToolCallLog
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
    assert printed.arguments == '{"command": "cat a.txt", "timeout_s": 600, "background": false, "python": false}'
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


def test_paths_of_the_folder_on_this_machine_are_understood(play: Callable[..., Run], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("name = 1\n")
    (folder / "src" / "AGENTS.md").write_text("Use tabs.\n")
    patch = f"*** Begin Patch\n*** Update File: {folder}/src/app.py\n@@\n-name = 1\n+name = 2\n*** End Patch"
    run = play(
        call("file", action="read", path=f"{folder}/src/app.py"),
        call("match", action="grep", pattern="name", path=str(folder)),
        call("file", action="patch", path=".", content=patch),
        call("file", action="read", path=f"{tmp_path}/project2/app.py"),
        call("message", type="result", text="Done.", attachments=[f"{folder}/src/app.py"]),
    )
    Session.objects.update(workdir=str(folder))
    assert run.advance().state == "done"
    (read, page), (_, found), (patched, _), (outside, reason) = run.results()[:4]
    assert (read, page) == ("succeeded", "     1\tname = 1")
    assert "src/app.py\n1:name = 1" in found
    assert patched == "succeeded"
    assert (folder / "src" / "app.py").read_text() == "name = 2\n"
    assert outside == "failed"
    assert "leads out of the workspace" in reason
    assert run.task.final_result["attachments"] == ["src/app.py"]
    log = ToolCallLog.objects.filter(task=run.task).earliest("pk")
    assert '"path": "src/app.py"' in log.arguments
    assert log.remarks[0]["said"] == f"path: {folder}/src/app.py → src/app.py"
    assert any(entry.metadata.get("kind") == "folder_instructions" for entry in run.entries)

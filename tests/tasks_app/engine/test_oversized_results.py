"""A result that is too long: the context keeps its ends, the workspace the whole."""

from tasks_app.models import Limits
from tasks_app.record.tokens import estimate
from tests.tasks_app.engine.conftest import call, result

LONG = "".join(f"line {number} of a long file with words\n" for number in range(2_000))


def read_of(run, text):
    """The result of a call that reads a file with `text`."""
    path = run.task.session.workspace_path
    path.mkdir(parents=True, exist_ok=True)
    (path / "long.txt").write_text(text)
    run.advance()
    return run.results()[0][1]


def test_it_keeps_head_and_tail_and_names_the_file_with_the_whole(play):
    run = play(call("shell", command="cat long.txt"), result())
    content = read_of(run, LONG)
    assert estimate(content) < 2_600
    assert "line 0 of" in content
    assert "line 1999 of" in content
    name = content.split("in the file ")[1].split(" ")[0]
    whole = (run.task.session.workspace_path / name).read_text()
    assert "line 1000 of" in whole
    assert "line 1000 of" not in content


def test_the_budget_is_a_setting_and_counts_bytes(play):
    Limits.objects.create(pk=1, result_tokens=100)
    content = read_of(play(call("file", action="read", path="long.txt"), result()), "ü" * 1_000 + "end")
    assert estimate(content) < 150
    assert content.endswith("end")


def test_a_full_workspace_loses_the_middle_and_says_so(play, monkeypatch):
    from tools_app.errors import ToolError
    from tools_app.files import workspace

    def refuse(self, path, data):
        raise ToolError("The workspace is full.")

    monkeypatch.setattr(workspace.Workspace, "write_bytes", refuse)
    run = play(call("shell", command="cat long.txt"), result())
    assert "the rest could not be kept: The workspace is full." in read_of(run, LONG)
    assert run.task.state == "done"


def test_a_page_of_a_file_is_never_cut_in_its_middle_and_says_where_to_go_on(play):
    run = play(call("file", action="read", path="long.txt"), call("file", action="read", path="long.txt"), result())
    content = read_of(run, LONG)
    *lines, rest = content.splitlines()
    assert "cut:" not in content
    assert rest == f"({2_000 - len(lines)} more lines; go on with offset {len(lines) + 1})"
    assert lines == [f"{number + 1:6}\tline {number} of a long file with words" for number in range(len(lines))]
    assert estimate(content) <= Limits.current().result_tokens

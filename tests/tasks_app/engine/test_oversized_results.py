"""Results that are too long: the context has a part, the workspace the entire result."""

import json
import re

import pytest

from llm_app.types import ToolCall
from tasks_app import services
from tasks_app.models import Limits
from tasks_app.record.tokens import estimate, within_budget
from tests.tasks_app.engine.conftest import call, result, script
from tools_app.contract import ToolResult
from tools_app.files import Workspace

LONG = "".join(f"line {number} of a long file with words\n" for number in range(2_000))


def read_of(run, text):
    """Return the result of a call that reads a file with `text`."""
    path = run.task.session.workspace_path
    path.mkdir(parents=True, exist_ok=True)
    (path / "long.txt").write_text(text)
    run.advance()
    return run.results()[0][1]


def followed(content):
    """Return the arguments of the call that a result names."""
    name, arguments = re.search(r"(\w+)\(((?:\w+=(?:\"[^\"]*\"|\d+)(?:, )?)+)\)", content).groups()
    return call(name, **{key: json.loads(value) for key, value in re.findall(r'(\w+)=("[^"]*"|\d+)', arguments)})


def test_a_long_output_keeps_head_and_tail_and_names_the_call_for_the_rest(play):
    run = play(call("shell", command="cat long.txt"), result())
    content = read_of(run, LONG)
    assert estimate(content) <= 12_800
    head, _, tail = content.partition("\n[… lines ")
    assert LONG.startswith(head + "\n")
    output, own = tail.partition("…]\n")[2].rsplit("\n", 1)
    assert LONG.endswith(output + "\n")
    assert own.startswith("[exit code 0, ")
    asked = followed(content)["arguments"]
    between = LONG[len(head) + 1 : -len(output) - 1].splitlines()
    assert (asked["offset"], asked["limit"]) == (head.count("\n") + 2, len(between))
    whole = (run.task.session.workspace_path / asked["path"]).read_text()
    assert whole == LONG.removesuffix("\n")


def test_a_command_that_prints_one_long_line_shows_its_beginning(play):
    run = play(call("shell", command="tr -d '\\n' < long.txt"), result())
    content = read_of(run, LONG)
    line = LONG.replace("\n", "")
    head = content.partition("\n[… lines 1 to 1 of 1 are not shown")[0]
    assert line.startswith(head)
    assert followed(content)["arguments"] | {"path": ""} == {
        "action": "read", "path": "", "offset": 1, "skip": len(head), "limit": 1,
    }  # fmt: skip


def test_a_stored_output_is_not_stored_twice(play):
    run = play(call("shell", command="cat long.txt"), call("shell", command="cat .results/*"), result())
    read_of(run, LONG)
    first, second, _ = (content for _, content in run.results())
    assert followed(first) == followed(second)
    assert len(list((run.task.session.workspace_path / ".results").iterdir())) == 1


@pytest.mark.parametrize(
    ("window", "tokens"), [(4_000, 500), (8_000, 1_000), (32_000, 3_200), (128_000, 12_800), (200_000, 12_800)]
)
def test_the_budget_goes_by_the_window(window, tokens):
    assert Limits().result_tokens_in(window) == tokens
    assert Limits(result_tokens=2_500).result_tokens_in(window) == min(2_500, window // 8)


def test_the_budget_is_a_setting_and_counts_bytes(play):
    Limits.objects.create(pk=1, result_tokens=100)
    content = read_of(play(call("shell", command="cat long.txt; echo; echo end"), result()), "ü" * 1_000)
    assert estimate(content) < 200
    assert "\n[exit code 0, " in content


def test_external_content_stays_enclosed(tmp_path):
    page = '<web_page url="https://a.org">\n' + LONG + "</web_page>"
    shown = within_budget(
        ToolResult(content=page), page, Workspace(tmp_path), ToolCall(id="call_1", name="x", arguments=""), 500
    )
    *lines, closing, rest = shown.split("\n")
    assert closing == "</web_page>"
    assert rest.startswith(
        f"[… lines {len(lines) + 1} to 2,002 of 2,002 are not shown. They are in .results/call_1.txt: "
    )


def test_a_full_workspace_loses_the_middle_and_says_so(play, monkeypatch):
    from tools_app.errors import ToolError
    from tools_app.files import workspace

    def refuse(self, path, data):
        raise ToolError("The workspace is full.")

    monkeypatch.setattr(workspace.Workspace, "write_bytes", refuse)
    run = play(call("shell", command="cat long.txt"), result())
    assert "and could not be kept: The workspace is full." in read_of(run, LONG)
    assert run.task.state == "done"


def test_a_page_of_a_file_names_the_next_page(play):
    run = play(call("file", action="read", path="long.txt"), call("file", action="read", path="long.txt"), result())
    content = read_of(run, LONG)
    *lines, rest = content.splitlines()
    hint = f'file(action="read", path="long.txt", offset={len(lines) + 1})'
    assert rest == f"[lines 1 to {len(lines)} of 2,000. Next page: {hint}]"
    assert lines == [f"{number + 1:6}\tline {number} of a long file with words" for number in range(len(lines))]
    assert 12_400 < estimate(content) <= 12_800
    assert not (run.task.session.workspace_path / ".results").exists()


def test_output_with_a_lost_middle_names_its_length(play):
    """The page, the stored file, a page of it and a search in it all report that they are incomplete."""
    run = play(call("shell", command="seq 200000"), result())
    run.advance()
    content = run.results()[0][1]
    lost = re.search(r"([\d,]+) of 200,000 lines \([\d,]+ of 1,288,895 bytes\) of output were not kept", content)
    path = followed(content)["arguments"]["path"]
    kept = (run.task.session.workspace_path / path).read_text()
    assert f"[… {lost[0]} …]" in kept
    assert kept.count("\n") + 1 == 200_000 - int(lost[1].replace(",", "")) + 1
    assert f"of the {kept.count(chr(10)) + 1:,} kept are not shown" in content
    assert "of 200,000 are" not in content
    number = kept.partition("[…")[0].splitlines()[-1]
    missing = str(int(number) + 1)
    looks = [
        call("file", action="read", path=path, limit=5),
        call("match", action="grep", pattern=f"^{missing}$", path=path),
        call("match", action="grep", pattern=f"^{number}$", path=".results"),
        result(),
    ]
    run.task = services.post_message(run.task.session, run.task.started_by, script(*looks)).task
    run.advance()
    page, none, one = (content for _, content in run.results()[-4:-1])
    assert page.endswith("[this file is not all of the output: its middle was not kept, where a line says so]")
    assert none == f"No match.\n(not searched: {path} (the middle of this output, which was not kept))"
    assert one.startswith(f"{path}\n{number}:{number}\n(not searched: {path} ")


def test_each_page_of_a_recalled_result_names_the_lost_part(play):
    run = play(call("shell", command="head -c 5000000 /dev/zero | tr '\\0' x"), result())
    run.advance()
    assert "3,951,424 of 5,000,000 bytes of output were not kept" in run.results()[0][1]


def test_binary_output_is_named_and_not_printed(play):
    command = "printf 'before\\n'; head -c 9000 /dev/urandom; printf '\\xffafter\\n'"
    run = play(call("shell", command=command), result())
    run.advance()
    content = run.results()[0][1]
    assert re.fullmatch(
        r"before\n\[binary output, 9,00\d bytes(, looks like .*)?; redirect it to a file\]\n(after\n)?\[exit.*", content
    )

"""A tool's one-line summary of its result: in the outline, in the answer's steps and as the session's summary."""

import re
from dataclasses import replace

import pytest

from tasks_app.engine.compaction.summary import line_of
from tasks_app.models import Session
from tasks_app.record.turns import group
from tasks_app.workspace.folders import workspace_of
from tests.tasks_app.engine.conftest import call, result
from tests.tools_app import documents
from tools_app.contract import ToolResult, registry
from tools_app.contract.registry import compact_line


@pytest.fixture
def summed_up(monkeypatch):
    """Let the named tool give this summary with its results."""

    def give(name, summary):
        definition = registry.get(name)

        async def handler(arguments, context):
            found = definition.handler(arguments, context)
            return replace(found if isinstance(found, ToolResult) else await found, summary=summary)

        monkeypatch.setitem(registry._tools, name, replace(definition, handler=handler))

    return give


def test_a_tools_summary_is_in_the_outline_and_the_steps(play, summed_up):
    summed_up("file", "an empty workspace")
    run = play(call("file", action="list", path="."), result())
    assert run.advance().state == "done"
    lines = [line_of(turn, compact_line) for turn in group([entry for entry in run.entries if entry.in_context])]
    (step,) = [line for line in lines if line.tool == "file"]
    assert "file list . → an empty workspace</step>" in step.text
    assert "an empty workspace" not in step.short
    (answer,) = [entry for entry in run.entries if entry.context_type == "ai_message"]
    assert [step["outcome"] for step in answer.metadata["steps"]] == ["an empty workspace"]


def test_a_read_file_is_summed_up_by_its_lines(play):
    run = play(
        call("file", action="read", path="a.txt", offset=3, limit=4),
        call("file", action="read", path="a.txt"),
        result(),
    )
    workspace_of(run.task.session).write_bytes("a.txt", b"some words\n" * 600)
    assert run.advance().state == "done"
    part, whole = [entry.metadata["summary"] for entry in run.entries if "summary" in entry.metadata][:2]
    assert part == "lines 3 to 6 of 600"
    assert whole == "lines 1 to 600 of 600"


def test_what_can_be_read_again_is_summed_up_by_its_range(play):
    run = play(
        call("file", action="list", path="many"),
        call("match", action="grep", pattern="word"),
        call("file", action="read", path="report.pdf", offset=2),
        call("file", action="list", path="."),
        result(),
    )
    workspace = workspace_of(run.task.session)
    for number in range(60):
        workspace.write_bytes(f"many/{number}.txt", b"a word\n")
    workspace.write_bytes("report.pdf", documents.pdf("one", "two", "three"))
    assert run.advance().state == "done"
    lines = [line_of(turn, compact_line).text for turn in group([entry for entry in run.entries if entry.in_context])]
    assert any(line.endswith(">file list many → entries 1 to 60 of 60</step>") for line in lines)
    assert any(line.endswith(">match grep word → matches 1 to 60 of 60</step>") for line in lines)
    assert any(line.endswith(">file read report.pdf from 2 → pages 2 to 3 of 3</step>") for line in lines)
    assert any(">file list . → many/ report.pdf (" in line for line in lines), "short as it is"


def test_the_outline_shows_the_beginning_of_written_text(play):
    run = play(
        call("file", action="write", path="notes.md", content="# The cause\n\nZero is seven.\n" + "more\n" * 99),
        call("file", action="append", path="notes.md", content="Seven is zero.\n"),
        result(),
    )
    assert run.advance().state == "done"
    lines = [line_of(turn, compact_line) for turn in group([entry for entry in run.entries if entry.in_context])]
    write, append = [line.text for line in lines if line.tool == "file"]
    assert ">file write notes.md: # The cause Zero is seven. more" in write
    assert write.endswith("→ Created notes.md: 102 lines, 523 bytes.</step>")
    assert ">file append notes.md: Seven is zero. → Appended 1 line, 15 bytes to notes.md. It has 103 lines" in append


def test_the_summary_of_the_last_call_is_the_sessions(play, summed_up):
    summed_up("message", "Three files mended.")
    run = play(result("A long report."))
    assert run.advance().state == "done"
    assert Session.objects.get().summary == "Three files mended."
    assert run.task.final_result["text"] == "A long report."


def test_without_a_summary_the_result_is_the_sessions(play):
    run = play(result("A long report."))
    assert run.advance().state == "done"
    assert Session.objects.get().summary == "A long report."


def test_a_long_output_of_a_command_is_summed_up_by_how_it_ended(play):
    run = play(call("shell", command="seq 1 500; exit 3"), result())
    assert run.advance().state == "done"
    (entry,) = [entry for entry in run.entries if entry.metadata.get("exit_code") == 3]
    assert entry.metadata["summary"].startswith("exit code 3")
    begin, *lines = entry.metadata["summary"].partition("…")[2].splitlines()
    assert [begin, *lines] == [str(number) for number in range(500 - len(lines), 501)], "whole lines"


def test_a_long_last_line_is_summed_up_by_its_beginning(play):
    run = play(call("shell", command="seq 1 500; seq 1 500 | tr '\\n' ' '; exit 3"), result())
    assert run.advance().state == "done"
    (entry,) = [entry for entry in run.entries if entry.metadata.get("exit_code") == 3]
    assert re.search(r"^exit code 3, .*: …1 2 3 ", entry.metadata["summary"])

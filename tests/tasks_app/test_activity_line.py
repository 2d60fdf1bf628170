"""What calls did, in a line of words that each tool brings along."""

import pytest

import tools_app.tools  # noqa: F401  registers them
from tasks_app.record.activity import activity_line, phrase_of


def line(*calls):
    return activity_line([phrase_of(name, arguments) for name, arguments in calls])


def read(path):
    return ("file", {"action": "read", "path": path})


def test_one_call_is_named():
    assert line(read("notes.txt")) == "Read notes.txt"


def test_calls_of_a_kind_are_counted():
    assert line(*map(read, "abc")) == "Read 3 files"


def test_the_same_call_again_is_said_so():
    tests = ("shell", {"command": "pytest -q"})
    assert line(tests, tests) == "Ran pytest -q twice"
    assert line(tests, tests, tests) == "Ran pytest -q 3 times"


def test_kinds_come_in_the_order_of_their_first_calls():
    calls = (read("a"), ("shell", {"command": "ls"}), read("b"), ("file", {"action": "write", "path": "c"}))
    assert line(*calls) == "Read 2 files, ran ls, wrote c"


def test_a_file_that_is_read_in_pages_is_one_file():
    assert line(read("a"), read("a"), read("b")) == "Read 2 files"


def test_each_command_counts_also_one_that_was_run_before():
    commands = [*(f"make part{number}" for number in range(10)), *["make test"] * 10]
    assert line(*(("shell", {"command": command}) for command in commands)) == "Ran 20 commands"


def test_commands_that_differ_behind_what_is_shown_are_others():
    long = "cd /workspace/a/folder/with/a/long/name && python3 -m pytest tests/"
    assert line(*(("shell", {"command": f"{long}{number}"}) for number in range(3))) == "Ran 3 commands"


def test_a_long_command_is_cut():
    assert line(("shell", {"command": "echo " + "x" * 100})).endswith("x…")


def test_a_tool_without_words_of_its_own_is_named():
    assert line(("maps__route", {"to": "Ulm"}), ("maps__route", {"to": "Ulm"})) == "Used maps: route twice"


def test_what_was_delegated_is_said_in_words():
    three, one = ("delegate", {"tasks": [{}] * 3}), ("delegate", {"tasks": [{"instruction": "Look."}]})
    assert line(three) == "Delegated 3 tasks"
    assert line(one, ("ask_price_clerk", {"instruction": "How much?"})) == "Delegated 1 task, asked price clerk"
    assert line(three, one) == "Delegated tasks 2 times"


@pytest.mark.parametrize("arguments", [{}, {"path": None}, {"arguments": "{not json"}, {"action": ["read"]}])
def test_arguments_that_are_none_still_make_words(arguments):
    assert line(("file", arguments))

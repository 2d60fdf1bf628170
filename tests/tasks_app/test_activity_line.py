"""Summary lines of tool calls, from the activity templates of the tools."""

import pytest

import tools_app.tools  # noqa: F401  registers them
from tasks_app.record.activity import activity_line, phrase_of


def line(*calls):
    return activity_line([phrase_of(name, arguments) for name, arguments in calls])


def read(path):
    return ("file", {"action": "read", "path": path})


def test_single_call_shows_its_arguments():
    assert line(read("notes.txt")) == "Read notes.txt"


def test_calls_of_one_tool_are_counted():
    assert line(*map(read, "abc")) == "Read 3 files"


def test_repeated_call_shows_number_of_times():
    tests = ("shell", {"command": "pytest -q"})
    assert line(tests, tests) == "Ran pytest -q twice"
    assert line(tests, tests, tests) == "Ran pytest -q 3 times"


def test_tools_are_in_order_of_first_call():
    calls = (read("a"), ("shell", {"command": "ls"}), read("b"), ("file", {"action": "write", "path": "c"}))
    assert line(*calls) == "Read 2 files, ran ls, wrote c"


def test_file_read_in_pages_counts_once():
    assert line(read("a"), read("a"), read("b")) == "Read 2 files"


def change(action, path):
    return ("file", {"action": action, "path": path})


def test_changed_files_are_named():
    assert line(change("edit", "src/app.py")) == "Edited src/app.py"
    assert line(change("edit", "src/app.py"), change("edit", "src/models.py")) == "Edited app.py, models.py"
    assert line(change("edit", "a.py"), change("edit", "a.py")) == "Edited a.py twice"
    assert line(*(change("write", f"{name}.py") for name in "abcde")) == "Wrote a.py, b.py, c.py and 2 more"
    same_names = [change("write", "a/x.py"), change("write", "b/x.py")]
    assert line(*same_names) == "Wrote a/x.py, b/x.py"


def test_patch_names_the_files_of_its_result():
    patch = {"action": "patch", "path": ".", "content": "…"}
    assert activity_line([phrase_of("file", patch)]) == "Patched"
    assert activity_line([phrase_of("file", patch, ["src/a.py", "src/b.py"])]) == "Patched a.py, b.py"
    two = [phrase_of("file", patch, ["src/a.py"]), phrase_of("file", patch, ["b.py", "src/a.py"])]
    assert activity_line(two) == "Patched a.py, b.py"


def test_repeated_command_counts_each_time():
    commands = [*(f"make part{number}" for number in range(10)), *["make test"] * 10]
    assert line(*(("shell", {"command": command}) for command in commands)) == "Ran 20 commands"


def test_commands_differing_beyond_the_cut_are_distinct():
    long = "cd /workspace/a/folder/with/a/long/name && python3 -m pytest tests/"
    assert line(*(("shell", {"command": f"{long}{number}"}) for number in range(3))) == "Ran 3 commands"


def test_long_command_is_cut():
    assert line(("shell", {"command": "echo " + "x" * 100})).endswith("x…")


def test_tool_without_template_shows_its_name():
    assert line(("maps__route", {"to": "Ulm"}), ("maps__route", {"to": "Ulm"})) == "Used maps: route twice"


def test_delegation_has_its_own_wording():
    three, one = ("delegate", {"tasks": [{}] * 3}), ("delegate", {"tasks": [{"instruction": "Look."}]})
    assert line(three) == "Delegated 3 tasks"
    assert line(one, ("ask_price_clerk", {"instruction": "How much?"})) == "Delegated 1 task, asked price clerk"
    assert line(three, one) == "Delegated tasks 2 times"


@pytest.mark.parametrize("arguments", [{}, {"path": None}, {"arguments": "{not json"}, {"action": ["read"]}])
def test_invalid_arguments_still_give_a_line(arguments):
    assert line(("file", arguments))

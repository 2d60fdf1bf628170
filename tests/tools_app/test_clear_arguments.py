"""Arguments in the words of other harnesses: clear ones are taken and noted, others get one sentence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tools_app.tools  # noqa: F401  registers them
from tools_app.contract import base, registry
from tools_app.contract.clear_arguments import read_object
from tools_app.errors import InvalidArguments, UnknownTool

CLEAR = [
    ("shell", '{"cmd": "ls"}', {"command": "ls"}),
    ("shell", '{"command": "echo hi", "timeout": 5}', {"command": "echo hi", "timeout_s": 5}),
    ("shell", '{"command": "echo hi", "timeout_ms": 5000}', {"command": "echo hi", "timeout_s": 5}),
    ("shell", '{"command": ["ls", "-la", "a b"]}', {"command": "ls -la 'a b'"}),
    ("shell", '{"command": ["bash", "-lc", "ls | wc -l"]}', {"command": "ls | wc -l"}),
    ("shell", '{"command": "echo f", "timeout_s": 1200}', {"command": "echo f", "timeout_s": 600}),
    ("shell", '{"command": "echo f", "timeoutS": "7"}', {"command": "echo f", "timeout_s": 7}),
    ("shell", '{"command": "ls", "description": "Lists files"}', {"command": "ls"}),
    ("shell", '{"command": "sleep 1", "run_in_background": true}', {"command": "sleep 1", "background": True}),
    ("shell", "{\"command\": \"echo 'a\nb'\"}", {"command": "echo 'a\nb'"}),
    ("shell", '{"command": "echo trailing",}', {"command": "echo trailing"}),
    ("shell", '{"command": "echo ,}",\n}', {"command": "echo ,}"}),
    ("shell", '```json\n{"command": "echo fenced"}\n```', {"command": "echo fenced"}),
    ("shell", "{'command': 'echo single', 'background': True}", {"command": "echo single", "background": True}),
    ("shell", '"{\\"command\\": \\"echo strjson\\"}"', {"command": "echo strjson"}),
    ("shell", '{"name": "shell", "arguments": {"command": "echo nested"}}', {"command": "echo nested"}),
    ("file", '{"action": "read", "file_path": "a.txt"}', {"action": "read", "path": "a.txt"}),
    ("file", '{"command": "view", "path": "a.txt"}', {"action": "read", "path": "a.txt"}),
    ("file", '{"action": "List", "path": "."}', {"action": "list", "path": "."}),
    ("file", '{"action": "list"}', {"action": "list", "path": "."}),
    ("file", '{"action": "read", "path": "a.txt", "offset": 0}', {"action": "read", "path": "a.txt", "offset": 1}),
    (
        "file",
        '{"action": "str_replace", "path": "a.txt", "old_str": "one", "new_str": "uno"}',
        {"action": "edit", "path": "a.txt", "old": "one", "new": "uno"},
    ),
    ("file", '{"action": "write", "path": "d.json", "content": {"a": 1}}', {"action": "write", "path": "d.json", "content": '{"a": 1}'}),
    ("file", '{"action": "create", "path": "a", "file_text": "x"}', {"action": "write", "path": "a", "content": "x"}),
    ("plan", '{"steps": [{"title": "do it"}]}', {"action": "update", "steps": [{"title": "do it", "status": "pending"}]}),
    (
        "plan",
        '{"todos": [{"content": "do it", "status": "completed", "activeForm": "Doing it"}, "and that"]}',
        {"action": "update", "steps": [{"title": "do it", "status": "done"}, {"title": "and that", "status": "pending"}]},
    ),
    ("match", '{"action": "grep", "query": "a", "include": "*.py"}', {"action": "grep", "pattern": "a", "glob": "*.py"}),
    ("search", '{"type": "info", "q": "a", "num_results": 50}', {"type": "info", "query": "a", "max_results": 20}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "text", "meant"), CLEAR)
def test_clear_arguments_are_taken_and_noted(tool: str, text: str, meant: dict[str, object]) -> None:
    remarks: list[str] = []
    read = base.read_arguments(registry.get(tool), text, remarks.append)
    assert (
        read.model_dump(mode="json", exclude_unset=True, exclude_none=True).items()
        >= {name: value for name, value in meant.items() if name != "steps"}.items()
    )
    assert read.model_dump(mode="json").get("steps") == meant.get("steps")
    assert remarks or text == '{"command": "echo f", "timeoutS": "7"}'


@pytest.mark.parametrize(
    ("tool", "text", "words"),
    [
        ("shell", '{"command": "ls", "workdir": "a"}', "there is no argument workdir; the arguments are command,"),
        ("shell", '{"cmd": "ls", "command": "rm a"}', "there is no argument cmd"),
        ("shell", '{"command": "echo cut', "not valid JSON"),
        ("shell", '{"command": "echo ab", "timeout_s": 5', "not valid JSON"),
        ("file", '{"action": "fly", "path": "a"}', "action: Input should be 'read'"),
        ("file", '{"action": "read", "path": "a", "limit": -1}', "limit"),
        ("plan", "{}", "action"),
    ],
)
def test_other_arguments_get_a_sentence(tool: str, text: str, words: str) -> None:
    with pytest.raises(InvalidArguments) as error:
        base.read_arguments(registry.get(tool), text)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("called", "meant"),
    [
        ("shell", "shell"),
        ("functions.shell", "shell"),
        ("default_api:file", "file"),
        ("bash", "shell"),
        ("container.exec", "shell"),
        ("functions.bash", "shell"),
        ("notes__add", "notes__add"),
        ("functions.notes__add", "notes__add"),
        ("read_file", "read_file"),
    ],
)
def test_names_of_other_harnesses(called: str, meant: str) -> None:
    assert registry.meant_name(called, ["notes__add"]) == meant


def test_a_foreign_tool_is_answered_with_ours() -> None:
    with pytest.raises(UnknownTool, match="There is no tool called 'read_file'. Use `file` with the action read."):
        registry.get("read_file")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_json_is_read_as_it_is(value: object) -> None:
    if not isinstance(value, str):
        assert read_object(json.dumps({"a": value}), "x") == ({"a": value}, "")

"""A written file that does not parse is said so in the result, with the line."""

import pytest

from tests.tools_app.conftest import Call


@pytest.mark.parametrize(
    ("path", "content", "note"),
    [
        ("a.py", "def f(:\n    pass\n", "a.py does not parse: line 1: invalid syntax."),
        ("a.py", "x = 1\nif x:\ny = 2\n", "a.py does not parse: line 3: expected an indented block"),
        ("a.json", '{"a": 1,\n "b" 2}', "a.json does not parse: line 2, column 6: Expecting ':' delimiter."),
        ("a.toml", "a = 1\nb = \n", "a.toml does not parse: Invalid value (at line 2"),
        ("a.yaml", "a: 1\nb: [1, 2\nc: 3\n", "a.yaml does not parse: line 3"),
        ("deep.json", "[" * 200_000, ""),
    ],
)
async def test_fault_is_named_with_its_line(call: Call, path: str, content: str, note: str) -> None:
    result = await call("file", action="write", path=path, content=content)
    assert "\n".join(result.notes).startswith(note)
    assert bool(result.notes) == bool(note)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.py", "def f():\n    return 1\n"),
        ("a.yml", "a: !Ref b\n---\nc: 1\n"),
        ("a.json", '{"a": [1, null]}'),
        ("tsconfig.json", "{/* with comments */}"),
        ("a.txt", "def f(:"),
        ("a.toml", "[a]\nb = 1\n"),
    ],
)
async def test_nothing_is_said_of_a_file_that_parses(call: Call, path: str, content: str) -> None:
    assert (await call("file", action="write", path=path, content=content)).notes == []


async def test_edits_and_patches_are_checked(call: Call) -> None:
    await call("file", action="write", path="a.py", content="x = (1)\n")
    edited = await call("file", action="edit", path="a.py", old="(1)", new="(1")
    assert edited.notes == ["a.py does not parse: line 1: '(' was never closed."]
    patch = "*** Begin Patch\n*** Add File: b.json\n+{\n*** Update File: a.py\n@@\n-x = (1\n+x = 1\n*** End Patch"
    patched = await call("file", action="patch", path=".", content=patch)
    assert [note.split(":")[0] for note in patched.notes] == ["b.json does not parse"]

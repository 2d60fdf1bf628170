"""Tests of patches from *** Begin Patch to *** End Patch, the form on which GPT models are trained."""

import pytest

from tests.tools_app.conftest import Call
from tools_app.errors import ToolError
from tools_app.files import Workspace

CODE = "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 1\n"


def envelope(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


@pytest.fixture
def code(workspace: Workspace) -> Workspace:
    workspace.write_bytes("src/a.py", CODE.encode())
    workspace.write_bytes("old.txt", b"one\ntwo\n")
    return workspace


def text(workspace: Workspace, path: str) -> str:
    return workspace.read_bytes(path).decode()


async def test_envelope_updates_adds_and_deletes_files(call: Call, code: Workspace) -> None:
    patch = envelope(
        "*** Update File: src/a.py",
        "@@ class B:",
        "     def f(self):",
        "-        return 1",
        "+        return 2",
        "*** Add File: notes/new.md",
        "+# New",
        "+",
        "+words",
        "*** Delete File: old.txt",
    )
    done = await call("file", action="patch", path=".", content=patch)
    assert text(code, "src/a.py") == CODE[:-2] + "2\n"
    assert text(code, "notes/new.md") == "# New\n\nwords\n"
    assert not code.is_file("old.txt")
    assert done.content.splitlines() == [
        "Patched 3 files:",
        "- src/a.py: 1 change",
        "- notes/new.md: created",
        "- old.txt: deleted",
    ]


async def test_several_anchors_and_a_moved_file(call: Call, code: Workspace) -> None:
    patch = envelope(
        "*** Update File: a.py",
        "*** Move to: b.py",
        "@@ class B:",
        "@@     def f(self):",
        "-        return 1",
        "+        return 3",
        "*** End of File",
        "",
    )
    await call("file", action="patch", path="src", content=patch)
    assert not code.is_file("src/a.py")
    assert text(code, "src/b.py") == CODE[:-2] + "3\n"


async def test_first_change_needs_no_header_and_insertions_follow_anchors(call: Call, code: Workspace) -> None:
    first = envelope("*** Update File: old.txt", " one", "-two", "+2")
    await call("file", action="patch", path=".", content=first)
    second = envelope("*** Update File: old.txt", "@@ one", "+one and a half")
    await call("file", action="patch", path=".", content=second)
    assert text(code, "old.txt") == "one\none and a half\n2\n"


async def test_lines_without_a_position_are_appended(call: Call, code: Workspace) -> None:
    code.write_bytes("open.txt", b"one\ntwo")  # its last line has no line end
    update = ["@@", "+three", "+four", "@@", "-one", "+1"]
    patch = envelope("*** Update File: old.txt", *update, "*** Update File: open.txt", *update)
    await call("file", action="patch", path=".", content=patch)
    assert (text(code, "old.txt"), text(code, "open.txt")) == ("1\ntwo\nthree\nfour\n", "1\ntwo\nthree\nfour")


async def test_line_ends_of_the_file_are_preserved(call: Call, code: Workspace) -> None:
    code.write_bytes("dos.txt", b"one\r\ntwo\r\n")
    patch = envelope("*** Update File: dos.txt", "@@", " one", "-two", "+three").replace("\n", "\r\n")
    await call("file", action="patch", path=".", content=patch)
    assert code.read_bytes("dos.txt") == b"one\r\nthree\r\n"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ["*** Update File: src/a.py", "@@", "-        return 7", "+x"],
            'Change 1 of src/a.py does not fit: line 3 is "        return 1", the patch has "        return 7"',
        ),
        (
            ["*** Update File: src/a.py", "@@", "-nothing like it", "+x"],
            'no line of the file is like "nothing like it"',
        ),
        (["*** Update File: src/a.py", "@@ class C:", "-        return 1", "+x"], r"no line 'class C:'"),
        (["*** Update File: src/a.py", "@@", "-        return 1", "+x"], "fits in 2 places"),
        (["*** Update File: src/a.py"], "holds no change"),
        (["*** Update File: none.py", "@@", "-a", "+b"], "There is no none.py"),
        (["*** Add File: old.txt", "+x"], "old.txt exists already"),
        (["*** Add File: new.txt", "x"], r"begins with \+"),
        (["*** Delete File: src"], "There is no src"),
        (["*** Delete File: ../outside.txt"], "outside|workspace"),
        (["*** Rename File: a"], r"\*\*\* Update File: path"),
        ([], r"\*\*\* Update File: path"),
    ],
)
async def test_unfitting_change_is_named_and_changes_nothing(
    call: Call, code: Workspace, lines: list[str], said: str
) -> None:
    good = ["*** Update File: old.txt", "@@", "-one", "+1"] if lines and "Rename" not in lines[0] else []
    with pytest.raises(ToolError, match=said):
        await call("file", action="patch", path=".", content=envelope(*good, *lines))
    assert text(code, "old.txt") == "one\ntwo\n"
    assert text(code, "src/a.py") == CODE

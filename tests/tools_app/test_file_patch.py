"""Tests of the action `patch` of the tool `file`: several positions and files, applied completely or not at all."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools_app.conftest import Call
from tools_app.editing.patch import apply_hunks
from tools_app.editing.patch_reading import parse_patch
from tools_app.errors import ToolError
from tools_app.files import Workspace

TWO_FILES = """\
--- a/one.py
+++ b/one.py
@@ -1,3 +1,3 @@
 import os
-import sys
+import re

@@ -8,2 +8,3 @@
 def end():
     return 1
+# the end
--- /dev/null
+++ b/new/two.py
@@ -0,0 +1,2 @@
+a = 1
+b = 2
"""
ONE = "import os\nimport sys\n\nx = 1\ny = 2\nz = 3\n\ndef end():\n    return 1\n"


async def test_patch_changes_several_files_and_shows_a_diff(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("one.py", ONE.encode())
    done = await call("file", action="patch", path=".", content=TWO_FILES)
    assert workspace.read_bytes("one.py").decode() == ONE.replace("sys", "re") + "# the end\n"
    assert workspace.read_bytes("new/two.py") == b"a = 1\nb = 2\n"
    assert done.content == "Patched 2 files:\n- one.py: 2 changes\n- new/two.py: created"
    assert "+import re" in done.metadata["diff"]


async def test_unfitting_hunk_changes_nothing(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("one.py", ONE.replace("return 1", "return 2").encode())
    with pytest.raises(ToolError, match=r"Change 2 of one.py does not fit"):
        await call("file", action="patch", path=".", content=TWO_FILES)
    assert b"import sys" in workspace.read_bytes("one.py")
    assert not workspace.is_file("new/two.py")


async def test_failed_write_restores_the_other_files(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("one.py", ONE.encode())
    workspace.write_bytes("new", b"a file where the patch needs a folder")
    with pytest.raises(ToolError, match="Nothing was changed"):
        await call("file", action="patch", path=".", content=TWO_FILES)
    assert workspace.read_bytes("one.py").decode() == ONE


async def test_wrong_line_numbers_select_the_nearest_match(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"x\n" * 3 + b"here\n" + b"x\n" * 10 + b"here\n")
    await call("file", action="patch", path=".", content="--- a/a.txt\n+++ b/a.txt\n@@ -14,1 +14,1 @@\n-here\n+there\n")
    assert workspace.read_bytes("a.txt") == b"x\n" * 3 + b"here\n" + b"x\n" * 10 + b"there\n"


async def test_two_matches_without_a_line_number_are_refused(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"here\nhere\n")
    with pytest.raises(ToolError, match="fits in 2 places"):
        await call("file", action="patch", path=".", content="--- a/a.txt\n+++ b/a.txt\n@@\n-here\n+there\n")


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("just words", "This is no patch"),
        ("--- a/a.txt\n+++ b/a.txt\n", "holds no change"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "no name"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n*a\n", "neither space"),
        ("--- a/none.txt\n+++ b/none.txt\n@@ -1 +1 @@\n-a\n+b\n", "There is no none.txt"),
        ("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+b\n", "exists already"),
        ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", r"\.\./x"),
    ],
)
async def test_invalid_patches_are_explained(call: Call, workspace: Workspace, patch: str, said: str) -> None:
    workspace.write_bytes("a.txt", b"a\n")
    with pytest.raises(ToolError, match=said):
        await call("file", action="patch", path=".", content=patch)
    assert workspace.read_bytes("a.txt") == b"a\n"


async def test_patch_deletes_and_renames_files(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("old.txt", b"a\nb\n")
    workspace.write_bytes("gone.txt", b"x\n")
    patch = (
        "--- a/old.txt\n+++ b/new.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    )
    await call("file", action="patch", path=".", content=patch)
    assert workspace.read_bytes("new.txt") == b"a\nc\n"
    assert not workspace.is_file("old.txt")
    assert not workspace.is_file("gone.txt")


async def test_line_ends_are_preserved(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("dos.txt", b"a\r\nb\r\nc")
    await call("file", action="patch", path=".", content="--- a/dos.txt\n+++ b/dos.txt\n@@ -1,2 +1,3 @@\n a\n+n\n b\n")
    assert workspace.read_bytes("dos.txt") == b"a\r\nn\r\nb\r\nc"


@given(
    before=st.lists(st.sampled_from(["a", "b", "", " c", "d"]), max_size=30),
    after=st.lists(st.sampled_from(["a", "b", "", " c", "e"]), max_size=30),
)
def test_applying_a_diff_gives_the_second_text(before: list[str], after: list[str]) -> None:
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    diff = "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "a/f", "b/f"))
    if diff:
        (patch,) = parse_patch(diff)
        assert apply_hunks(old.encode(), patch.hunks, "f") == new.encode()

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
    with pytest.raises(ToolError) as failed:
        await call("file", action="patch", path=".", content=TWO_FILES)
    assert str(failed.value) == (
        'Change 2 of one.py does not fit: line 9 is "    return 2", the patch has "    return 1".\n'
        "Nothing was changed; with partial=true the other 1 file would be patched."
    )
    assert b"import sys" in workspace.read_bytes("one.py")
    assert not workspace.is_file("new/two.py")


async def test_failed_write_restores_the_other_files(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("one.py", ONE.encode())
    workspace.write_bytes("new", b"a file where the patch needs a folder")
    with pytest.raises(ToolError, match="Nothing was changed"):
        await call("file", action="patch", path=".", content=TWO_FILES)
    assert workspace.read_bytes("one.py").decode() == ONE


async def test_partial_patch_takes_only_the_failed_file_again(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("one.py", ONE.replace("return 1", "return 2").encode())
    done = await call("file", action="patch", path=".", content=TWO_FILES, partial=True)
    assert done.content.splitlines() == [
        "Patched 1 file:",
        "- new/two.py: created",
        "Not patched (send only these files again):",
        '- Change 2 of one.py does not fit: line 9 is "    return 2", the patch has "    return 1".',
    ]
    assert b"import sys" in workspace.read_bytes("one.py"), "the first change of the file fits, but the file is one"
    again = TWO_FILES.partition("--- /dev/null")[0].replace("return 1", "return 2")
    assert (
        await call("file", action="patch", path=".", content=again)
    ).content == "Patched 1 file:\n- one.py: 2 changes"
    assert workspace.read_bytes("one.py").endswith(b"    return 2\n# the end\n")


async def test_partial_patch_that_fits_nowhere_is_refused(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("one.py", b"other\n")
    workspace.write_bytes("new/two.py", b"other\n")
    with pytest.raises(ToolError) as failed:
        await call("file", action="patch", path=".", content=TWO_FILES, partial=True)
    assert str(failed.value).splitlines() == [
        '- Change 1 of one.py does not fit: line 1 is "other", the patch has "import os".',
        "- new/two.py exists already, and the patch would create it.",
        "Nothing was changed.",
    ]


async def test_partial_patch_keeps_parts_of_one_file_together(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"a\n")
    workspace.write_bytes("c.txt", b"c\n")
    patch = "--- a/a.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-a\n+b\n--- a/c.txt\n+++ b/c.txt\n@@ -1 +1 @@\n-c\n+d\n"
    patch += "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-x\n+y\n"
    done = await call("file", action="patch", path=".", content=patch, partial=True)
    assert "- c.txt: 1 change\nNot patched" in done.content
    assert 'Change 1 of b.txt does not fit: line 1 is "b", the patch has "x".' in done.content
    assert (workspace.read_bytes("a.txt"), workspace.is_file("b.txt")) == (b"a\n", False)


async def test_partial_patch_reports_a_file_that_cannot_be_written(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("one.py", ONE.encode())
    workspace.write_bytes("new", b"a file where the patch needs a folder")
    done = await call("file", action="patch", path=".", content=TWO_FILES, partial=True)
    assert done.content.startswith(
        "Patched 1 file:\n- one.py: 2 changes\nNot patched (send only these files again):\n- "
    )


@pytest.mark.parametrize(
    ("before", "hunk", "difference"),
    [
        ("def f():\n\treturn 1\n", " def f():\n-    return 1", "line 2 begins with a tab, the patch with 4 spaces"),
        ("a\nb\n", " a\n b\n-c", 'line 3 is "", the patch has "c"'),
        ("a\nb", " a\n b\n-c", 'the file ends before line 3, where the patch has "c"'),
        ("a\nb  c\n", " a\n-b c", 'line 2 has 2 spaces after "b", the patch a space'),
        ("x = 1\ny = 2\nz = 3\n", " x = 1\n-z = 3", 'line 2 is "y = 2", the patch has "z = 3"'),
    ],
)
async def test_first_line_that_differs_is_named(
    call: Call, workspace: Workspace, before: str, hunk: str, difference: str
) -> None:
    workspace.write_bytes("a.py", before.encode())
    for header in ("@@", "@@ -1,2 +1,2 @@"):
        with pytest.raises(ToolError) as failed:
            await call("file", action="patch", path=".", content=f"--- a/a.py\n+++ b/a.py\n{header}\n{hunk}\n+new\n")
        assert str(failed.value) == f"Change 1 of a.py does not fit: {difference}.\nNothing was changed."


async def test_change_that_fits_before_the_last_one_is_told_so(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"one\ntwo\nthree\n")
    patch = "--- a/a.txt\n+++ b/a.txt\n@@\n-three\n+3\n@@\n-one\n+1\n"
    with pytest.raises(
        ToolError, match="Change 2 of a.txt does not fit: its lines are not behind the changes before it"
    ):
        await call("file", action="patch", path=".", content=patch)


async def test_white_space_at_line_ends_is_kept_and_no_difference(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"one  \n   \ntwo\t\nthree\n")
    await call("file", action="patch", path=".", content="--- a/a.txt\n+++ b/a.txt\n@@\n one\n\n-two\n+2\n three \n")
    assert workspace.read_bytes("a.txt") == b"one  \n   \n2\nthree\n"


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

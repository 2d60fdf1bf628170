"""Tests of the diff of two versions: correct for all of them, and cheap in the worst case."""

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from tools_app.editing.diff import unified

lines = st.lists(st.sampled_from(["a", "b", "c", "}", ""]), max_size=60)
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def applied(before: list[str], diff: str) -> list[str]:
    """Apply the diff with a minimal `patch`."""
    after, position = [], 0
    for line in diff.split("\n")[2:]:
        if hunk := HUNK.fullmatch(line):
            start = int(hunk[1]) - (hunk[2] != "0")
            after += before[position:start]
            position = start
        elif line[0] == "+":
            after.append(line[1:])
        else:
            assert before[position] == line[1:]
            position += 1
            after += [line[1:]] if line[0] == " " else []
    return after + before[position:]


def data(version: list[str]) -> str:
    return "".join(f"{line}\n" for line in version)


@given(lines, lines)
def test_applying_the_diff_gives_the_new_version(before: list[str], after: list[str]) -> None:
    diff = unified(data(before), data(after), "a.txt")
    assert bool(diff) == (before != after)
    assert (applied(before, diff) if diff else before) == after


@given(lines, lines, lines, lines)
def test_line_numbers_are_those_of_the_file(head: list[str], old: list[str], new: list[str], end: list[str]) -> None:
    before, after = (["same"] * 300 + head + version + end for version in (old, new))
    diff = unified(data(before), data(after), "a.txt")
    assert (applied(before, diff) if diff else before) == after


def test_an_end_without_a_line_break_is_shown() -> None:
    assert unified("a\nb", "a\nb\n", "x").split("\n")[3:] == [" a", "-b", "\\ No newline at end of file", "+b"]


def test_complete_change_of_large_repetitive_files_is_fast() -> None:
    before = "".join(f"{n * n % 101}\n" for n in range(100_000))
    after = "".join(f"{n * n % 103}\n" for n in range(100_000))
    start = time.process_time()
    assert unified(before, after, "a.txt").endswith("more changes follow)")
    assert time.process_time() - start < 2

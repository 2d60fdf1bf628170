"""Edits that nearly fit: a failing one says what differs, and differences without meaning are taken."""

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.tools_app.conftest import Call
from tools_app.editing.differences import squeezed
from tools_app.editing.replacement import replace
from tools_app.errors import ToolError
from tools_app.files import Workspace

CODE = "def f(x):\n\tif x:\n\t\treturn 1\n\n\treturn 2\n"


async def refusal(call: Call, old: str, new: str = "a new text") -> str:
    with pytest.raises(ToolError) as failed:
        await call("file", action="edit", path="a.py", old=old, new=new)
    return str(failed.value)


@pytest.mark.parametrize(
    ("text", "old", "difference", "offer"),
    [
        (
            CODE,
            "    if x:\n        return 1\n",
            "line 2 begins with a tab, yours with 4 spaces",
            r'"\tif x:\n\t\treturn 1"',
        ),
        (CODE, "if x:\n    return 1", "line 3 begins with 2 tabs, yours with 4 spaces", r'"if x:\n\t\treturn 1"'),
        (
            CODE,
            "\treturn 1\n\treturn 2",
            "line 3 begins with 2 tabs, yours with a tab",
            r'"\t\treturn 1\n\n\treturn 2"',
        ),
        ("a = 1\nb  =  2\n", "b = 2", 'line 2 has 2 spaces after "b", yours a space', '"b  =  2"'),
        ("f(a, b)\n", "f(a,b)", 'line 1 has a space after "f(a,", yours no white space', '"f(a, b)"'),
        ("a\n\nb\n", "a\nb", "line 2 is empty, yours has no empty line there", r'"a\n\nb"'),
        ("x = [1,\n  2]\n", "x = [1,\n    2]", "line 2 begins with 2 spaces, yours with 4 spaces", r'"x = [1,\n  2]"'),
        ("a\xa0b\n", "a b", 'line 1 has a no-break space after "a", yours a space', '"a\xa0b"'),
    ],
)
async def test_other_white_space_is_named_and_the_text_offered(
    call: Call, workspace: Workspace, text: str, old: str, difference: str, offer: str
) -> None:
    workspace.write_bytes("a.py", text.encode())
    message = await refusal(call, old)
    assert message == (
        f"old occurs 0 times in these {text.count(chr(10)) + 1} lines. Only white space differs: {difference}. "
        f"Call it again with old={offer}, and the same white space in new."
    )


async def test_offered_text_is_taken(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.py", CODE.encode())
    await refusal(call, "    if x:\n        return 1\n")
    await call("file", action="edit", path="a.py", old="\tif x:\n\t\treturn 1", new="\tif x:\n\t\treturn 7")
    assert workspace.read_bytes("a.py").decode() == CODE.replace("1", "7")


async def test_places_equal_up_to_white_space_are_listed(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.py", b"if a:\n\tx = 1\nif b:\n\t\tx = 1\n")
    message = await refusal(call, "        x = 1")
    assert "line 2 begins with a tab, yours with 8 spaces" in message
    assert message.endswith("It is alike in 2 places:\n     2\t\tx = 1\n     4\t\t\tx = 1")


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a  \nb\nc\n", "a\nb\n", "x\n", "x\nc\n"),
        ("a\nb\nc\n", "a \nb\t\n", "x\n", "x\nc\n"),
        ("if x:\n    \n    y\n", "if x:\n\n    y", "if x:\n    y", "if x:\n    y\n"),
        ("one\ntwo", "two\n", "2\n", "one\n2"),
        ("f(x)  \n", "(x)\n", "(y)\n", "f(y)\n"),
        ("a \r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n"),
        ("return (x)\nreturn\n", "return \n", "yield\n", "return (x)\nyield\n"),
    ],
)
async def test_white_space_at_line_ends_is_no_difference(
    call: Call, workspace: Workspace, text: str, old: str, new: str, after: str
) -> None:
    workspace.write_bytes("a.py", text.encode())
    done = await call("file", action="edit", path="a.py", old=old, new=new)
    assert workspace.read_bytes("a.py").decode() == after
    assert "; up to white space at line ends)" in done.content


async def test_two_places_up_to_line_ends_are_ambiguous(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.py", b"a \nb\na\t\nb\n")
    assert "occurs 2 times" in await refusal(call, "a\nb\n")
    done = await call("file", action="edit", path="a.py", old="a\nb\n", new="c\n", replace_all=True)
    assert "2 places" in done.content
    assert workspace.read_bytes("a.py") == b"c\nc\n"


async def test_no_word_is_cut_where_white_space_is_left_out(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.py", b"returning(x)\n")
    await refusal(call, "return ", "yield")
    assert workspace.read_bytes("a.py") == b"returning(x)\n"


NUMBERED = "one\n\n  two\nthree\n  two\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("     3\t  two\n     4\tthree", "     3\t  2\n     4\t3"),
        ("     3\t  two\n     4\tthree\n", "  2\n3\n"),
        ("    3→  two\n    4→three", "  2\n3"),
        ("3:   two\n4: three", "3:   2\n4: 3"),
        ("3:  two\n4:three", "  2\n3"),
        ("3 |   two\n4 | three", "  2\n3"),
    ],
)
async def test_line_numbers_of_a_reading_are_taken_off(call: Call, workspace: Workspace, old: str, new: str) -> None:
    workspace.write_bytes("a.txt", NUMBERED.encode())
    done = await call("file", action="edit", path="a.txt", old=old, new=new)
    assert workspace.read_bytes("a.txt").decode() == "one\n\n  2\n3\n  two\n"
    assert "line 3; line numbers taken off" in done.content


async def test_line_number_selects_one_of_two_places(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", NUMBERED.encode())
    await call("file", action="edit", path="a.txt", old="     5\t  two", new="  2")
    assert workspace.read_bytes("a.txt").decode() == "one\n\n  two\nthree\n  2\n"


@pytest.mark.parametrize(
    "old",
    ["80: three", "     7\t  two", "     2\tone\n     9\tthree", "1: three", "     4\tthree\nfour"],
)
async def test_numbers_that_are_no_line_numbers_stay(call: Call, workspace: Workspace, old: str) -> None:
    workspace.write_bytes("a.py", NUMBERED.encode())
    assert "occurs 0 times" in await refusal(call, old)
    assert workspace.read_bytes("a.py").decode() == NUMBERED


async def test_data_with_numbers_is_edited_as_it_is(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.tsv", b"1\tone\n2\ttwo\n")
    await call("file", action="edit", path="a.tsv", old="2\ttwo", new="2\t2")
    assert workspace.read_bytes("a.tsv") == b"1\tone\n2\t2\n"


async def test_replacement_with_some_line_numbers_is_refused(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.py", NUMBERED.encode())
    message = await refusal(call, "     4\tthree", "     4\tthree\nfour")
    assert message == "Some lines of new begin with line numbers. Send old and new without them."


@pytest.mark.parametrize(
    ("text", "old", "ending"),
    [
        (
            "a = 1\nb = 2\nc = 3\nd = 4\n",
            "b = 2\nc = 4\nd = 4",
            'It differs: line 3 is "c = 3", yours has "c = 4". The nearest lines are:\n     2\tb = 2\n     3\tc = 3\n     4\td = 4',
        ),
        (
            "if a:\n\tb = 1\n\tc = 2\n",
            "if a:\n  b = 1\n  c = 3",
            'It differs: line 2 begins with a tab, yours with 2 spaces, and line 3 is "\\tc = 2", yours has "  c = 3". '
            "The nearest lines are:\n     1\tif a:\n     2\t\tb = 1\n     3\t\tc = 2",
        ),
        (
            "it’s here\n",
            "it's here",
            'line 1 is "it’s here", yours has "it\'s here" (’ U+2019, not \' U+0027). The nearest lines are:\n'
            "     1\tit’s here",
        ),
        ("a = 1\n\nlast", "last\nmore", 'the file ends before line 4, where yours has "more". The nearest lines are:\n     3\tlast'),
        ("a new text\n", "an old text", "old occurs 0 times in these 2 lines, but new is there already, in line 1."),
        ("words\n", "quite other things", "No line is similar."),
    ],
)  # fmt: skip
async def test_first_difference_is_named(call: Call, workspace: Workspace, text: str, old: str, ending: str) -> None:
    workspace.write_bytes("a.py", text.encode())
    assert (await refusal(call, old)).endswith(ending)


async def test_long_lines_are_quoted_around_the_difference(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.py", b"x" * 500 + b"1" + b"y" * 500)
    message = await refusal(call, "x" * 500 + "2" + "y" * 500)
    assert f'line 1 is …"{"x" * 40}1{"y" * 59}"…, yours has …"{"x" * 40}2' in message
    assert len(message) < 1000


LINES = st.lists(st.sampled_from(["a", "b b", "", " ", "\t\tc", "    d (e)", "a\r", "7\tx"]), min_size=1, max_size=8)
SPACES = st.sampled_from(["", " ", "\t", "    ", " \t"])


@given(lines=LINES, begin=SPACES, gap=SPACES, end=SPACES, data=st.data())
def test_offered_text_occurs_once(lines: list[str], begin: str, gap: str, end: str, data: st.DataObject) -> None:
    text = "\n".join(lines)
    first = data.draw(st.integers(0, len(lines) - 1))
    chosen = lines[first : data.draw(st.integers(first + 1, len(lines)))]
    old = "\n".join(begin + line.strip().replace(" ", gap) + end for line in chosen)
    assume(old)
    try:
        edit = replace(text.encode(), old, "NEW", everywhere=False, limit=10**6)
    except ToolError as error:
        if offer := re.search(r'old=(".*"), and the same', str(error)):
            assert json.loads(offer[1]) in text.replace("\r\n", "\n")
            assert squeezed(json.loads(offer[1])) == squeezed(old)
    else:
        assert edit.text.count("NEW") == edit.count == 1

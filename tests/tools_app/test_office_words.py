"""Tests that the reader shows every word and number of Word and PowerPoint files, in its own marks."""

import re

import pytest

from tests.tools_app.conftest import Call
from tests.tools_app.office import CASES
from tests.tools_app.office.files import Case
from tools_app.documents.child import answer
from tools_app.files import Workspace


def reading(data: bytes) -> str:
    read = answer({"name": "x", "part": 1, "line": 1, "room": 100_000}, data)
    return "\n".join(f"--- {part['title']} ---\n" + "\n".join(part["lines"]) for part in read["parts"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_text_is_read(case: Case) -> None:
    text = reading(case.data)
    assert [shown for shown in case.shown if shown not in text] == [], text
    assert [absent for absent in case.absent if absent in text] == [], text
    assert [once for once in case.once if text.count(once) != 1] == [], text


async def test_each_word_is_found_by_a_search(call: Call, workspace: Workspace) -> None:
    """All files are searched by one call, because a process reads ten of them."""
    for number, case in enumerate(CASES):
        workspace.write_bytes(f"{number}.docx", case.data)
    content = (await call("match", action="grep", pattern=r"\S")).content
    found = dict(re.findall(r"(?ms)^(\d+)\.docx offset=1 (.*?)(?=^\d+\.docx offset=1 |\Z)", content))
    for number, case in enumerate(CASES):
        text = found[str(number)]
        assert [word for word in case.words if word not in text] == [], (case.name, text)

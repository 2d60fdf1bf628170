"""Tests that a damaged or malicious skill is refused with a sentence, without any other effect."""

import io
import zipfile
from itertools import pairwise

import pytest

from tests.waiting import takes_less_than
from tools_app.skills.skill_files import BadSkill, parse_skill, uploaded_skill


def _archive(name: str, text: str = "x" * 1000) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return buffer.getvalue()


def _damaged() -> bytes:
    data = bytearray(_archive("SKILL.md"))
    start = data.index(b"SKILL.md") + len(b"SKILL.md")
    data[start : start + 4] = b"\xff\xff\xff\xff"
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [_damaged(), _archive("a/../SKILL.md"), _archive("/SKILL.md"), _archive("SKILL.md")[:-30]],
    ids=["damaged", "out of the folder", "absolute", "cut off"],
)
def test_bad_archives_are_refused(data):
    with pytest.raises(BadSkill):
        uploaded_skill("skill.zip", data)


_BOMB = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghij"))


@pytest.mark.parametrize(
    "fields",
    [
        _BOMB + "description: *j",
        "description: " + "[" * 5000,
        "description: Folds." + "\nx: 1" * 10_000,
        'description: "Folds\\0."',
        'description: "Folds\\ud800."',
    ],
    ids=["grows without end", "deep", "long", "with a NUL", "with half a character"],
)
def test_hostile_front_matter_is_refused_quickly(fields):
    with takes_less_than(2), pytest.raises(BadSkill):
        parse_skill(f"---\nname: folding\n{fields}\n---\nFold.\n")


def test_unknown_fields_are_ignored():
    strange = "released: 2026-02-30\ncount: " + "9" * 5000
    assert parse_skill(f"---\nname: folding\ndescription: Folds.\n{strange}\n---\nFold.\n").name == "folding"

"""A damaged or malicious archive of a skill is refused in words; nothing else can come of it."""

import io
import zipfile

import pytest

from tools_app.skills.skill_files import BadSkill, uploaded_skill


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
def test_it_is_refused(data):
    with pytest.raises(BadSkill):
        uploaded_skill("skill.zip", data)

"""Tests of files in other encodings than UTF-8: they are read as text and keep their encoding."""

import codecs

import pytest

from tests.tools_app.conftest import Call
from tools_app.editing.patch import apply_hunks
from tools_app.editing.patch_reading import Hunk
from tools_app.errors import ToolError
from tools_app.files import Workspace
from tools_app.files.encoding import detect_encoding

TEXT = "Name: Zoë\r\nStadt: Köln — Rhein\r\n"
FILES = {
    "UTF-16": codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
    "UTF-16, big-endian": codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    "UTF-16 without a mark": TEXT.encode("utf-16-le"),
    "UTF-32": codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"),
    "UTF-8 with a mark": codecs.BOM_UTF8 + TEXT.encode(),
    "Windows-1252": TEXT.encode("cp1252"),
    "Latin-1": TEXT.replace(" — ", " - ").encode("latin-1"),
}


@pytest.fixture(params=FILES, ids=list(FILES))
def data(request: pytest.FixtureRequest, workspace: Workspace) -> bytes:
    workspace.write_bytes("a.txt", FILES[request.param])
    return FILES[request.param]


def decoded(data: bytes) -> str:
    encoding = detect_encoding(data)
    assert encoding
    return encoding.decode(data)


async def test_read_edit_and_append_keep_the_encoding(call: Call, workspace: Workspace, data: bytes) -> None:
    assert (await call("file", action="read", path="a.txt")).content.startswith(
        "     1\tName: Zoë\n     2\tStadt: Köln"
    )
    edited = await call("file", action="edit", path="a.txt", old="Zoë\nStadt", new="Änne\nOrt\nStadt")
    assert "-Name: Zoë" in edited.metadata["diff"]
    await call("file", action="append", path="a.txt", content="Fluß\n")
    encoding, after = detect_encoding(data), workspace.read_bytes("a.txt")
    assert detect_encoding(after) == encoding
    assert after.startswith(encoding.bom if encoding else b"")
    assert decoded(after) == decoded(data).replace("Zoë", "Änne\r\nOrt") + "Fluß\r\n"
    assert after.count(codecs.BOM_UTF16_LE) == data.count(codecs.BOM_UTF16_LE)


def test_patch_keeps_the_encoding(data: bytes) -> None:
    hunk = Hunk(start=1, old=["Name: Zoë"], new=["Name: Änne"])
    assert decoded(apply_hunks(data, [hunk], "a.txt")) == decoded(data).replace("Zoë", "Änne")


async def test_character_missing_in_the_encoding_is_refused(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", FILES["Latin-1"])
    for arguments in ({"action": "edit", "old": "Zoë", "new": "Łukasz"}, {"action": "append", "content": "Łukasz"}):
        with pytest.raises(ToolError, match="The file is Latin-1, which has no 'Ł'"):
            await call("file", path="a.txt", **arguments)
    assert workspace.read_bytes("a.txt") == FILES["Latin-1"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "UTF-8"),
        ("é".encode() * 10 + b"\xff" + "é".encode() * 10, "UTF-8"),  # damaged at one position
        ("x" * (1024**2 - 1) + "é", "UTF-8"),  # the sample ends inside a character
        (bytes(range(256)) * 4, "None"),
        (b"\0", "None"),
        ("日本語の文章".encode("shift_jis") * 50, "Shift-JIS"),
        ("Café".encode("latin-1"), "Latin-1"),  # no UTF-8 whose end is missing
        ("20 % – 50 °C".encode("cp1252"), "Windows-1252"),
        ("½ Liter ±3".encode("latin-1"), "Latin-1"),
        (b"\x1f\x8b\x08\x00" + bytes(range(128, 256)), "None"),
        (codecs.BOM_UTF16_LE + b"a\0b", "UTF-16"),
    ],
)
def test_detected_encodings(data: bytes | str, expected: str) -> None:
    assert str(detect_encoding(data.encode() if isinstance(data, str) else data)) == expected


async def test_file_that_would_not_round_trip_is_not_edited(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", codecs.BOM_UTF16_LE + "ab".encode("utf-16-le") + b"c")
    with pytest.raises(ToolError, match="not valid UTF-16"):
        await call("file", action="edit", path="a.txt", old="a", new="b")

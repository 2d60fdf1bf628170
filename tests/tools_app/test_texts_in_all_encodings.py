"""Tests that each word of texts and e-mails in the encodings of the world is read, found and kept."""

import pytest

from tests.tools_app.conftest import Call
from tests.tools_app.test_document_reader import parts
from tests.tools_app.texts import MAILS, UNDECLARED
from tools_app.errors import ToolError
from tools_app.files import Workspace
from tools_app.files.charsets import codec_of
from tools_app.files.encoding import decode_text


@pytest.mark.parametrize("name", UNDECLARED)
async def test_words_of_a_text_without_a_declaration(call: Call, workspace: Workspace, name: str) -> None:
    codec, text = UNDECLARED[name]
    workspace.write_bytes("a.txt", text.encode(codec))
    read = (await call("file", action="read", path="a.txt")).content
    found = (await call("match", action="grep", pattern=".")).content
    for number, line in enumerate(text.splitlines(), 1):
        assert f"{number:6}\t{line}" in read
        assert f"\n{number}:{line}" in found
    assert decode_text(text.encode(codec)) == text
    table = "\n".join(parts(text.encode(codec), "a.csv").values())
    assert all(word in table for line in text.splitlines() for word in line.replace(";", ",").split(","))
    await call("file", action="append", path="a.txt", content=text)
    assert workspace.read_bytes("a.txt").removeprefix(text.encode(codec)).decode(codec) == text


@pytest.mark.parametrize("name", MAILS)
async def test_words_of_a_mail(call: Call, workspace: Workspace, name: str) -> None:
    mail, words = MAILS[name]
    read = "\n".join(f"{title}\n{text}" for title, text in parts(mail, "a.eml").items())
    workspace.write_bytes("a.eml", mail)
    for word in words:
        assert word in read
    by_tool = (await call("file", action="read", path="a.eml")).content
    assert all(word in by_tool for word in words)


async def test_named_charset_is_read_and_written(call: Call, workspace: Workspace) -> None:
    """A guess is named in the result. Another charset can be given, also by the usual names of the argument."""
    data = "Größe: 5\n".encode("latin-1")
    workspace.write_bytes("a.txt", data)
    assert "read as Latin-1, a guess" in (await call("file", action="read", path="a.txt")).content
    read = await call("file", action="read", path="a.txt", view="KOI8-R")
    assert read.content == f"     1\t{data.decode('koi8_r')}".rstrip()
    old = data.decode("koi8_r").strip()
    await call("file", action="edit", path="a.txt", old=old, new="Да", view="KOI8-R")
    assert workspace.read_bytes("a.txt") == "Да\n".encode("koi8_r")
    assert "a guess" not in (await call("file", action="read", path="a.txt", view="koi8-r")).content


async def test_edit_that_would_change_other_places_is_refused(call: Call, workspace: Workspace) -> None:
    """Two sequences of Shift-JIS mean the same character."""
    data = "これはテストです。\n".encode("cp932") + b"\xfa\x54\n"
    workspace.write_bytes("a.txt", data)
    with pytest.raises(ToolError, match="it would change elsewhere too"):
        await call("file", action="edit", path="a.txt", old="テスト", new="試験")
    assert workspace.read_bytes("a.txt") == data


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("gb2312", "gb18030"),
        ("GBK", "gb18030"),
        ("x-gbk", "gb18030"),
        ("Shift_JIS", "cp932"),
        ("x-sjis", "cp932"),
        ("Windows-31J", "cp932"),
        ("csISO2022JP", "iso2022_jp"),
        ("EUC-KR", "cp949"),
        ("ks_c_5601-1987", "cp949"),
        ("Big5", "big5hkscs"),
        ("Big5-HKSCS", "big5hkscs"),
        ("ISO-8859-1", "cp1252"),
        ("latin1", "cp1252"),
        ("ISO-8859-9", "cp1254"),
        ("ISO-8859-8-I", "iso8859-8"),
        ("TIS-620", "cp874"),
        ("windows-874", "cp874"),
        ("x-mac-cyrillic", "mac-cyrillic"),
        ("macintosh", "mac-roman"),
        ("cp-850", "cp850"),
        ("KOI8-U", "koi8-u"),
        ("us-ascii", ""),
        ("unknown-8bit", ""),
        ("x-user-defined", ""),
        ("punycode", ""),
    ],
)
def test_labels_mean_what_browsers_mean(label: str, codec: str) -> None:
    assert codec_of(label) == codec


def test_declaration_in_a_file_counts() -> None:
    for head in ('<?xml version="1.0" encoding="windows-1251"?>\n<a>', "# -*- coding: cp1251 -*-\n# "):
        assert decode_text((head + "ъ").encode("cp1251")) == head + "ъ"

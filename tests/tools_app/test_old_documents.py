"""Tests that each word of documents of old formats is read and found, and that damaged ones are refused."""

import pytest

from tests.tools_app.conftest import Call
from tests.tools_app.old_documents import OLD
from tests.tools_app.test_document_reader import parts
from tools_app.documents.child import answer
from tools_app.documents.formats import kind_by_name
from tools_app.documents.rich_text import decompressed
from tools_app.files import Workspace


@pytest.mark.parametrize("name", OLD)
async def test_words_of_an_old_document(call: Call, workspace: Workspace, name: str) -> None:
    path, data, words = OLD[name]
    workspace.write_bytes(path, data)
    read = (await call("file", action="read", path=path)).content
    found = (await call("match", action="grep", pattern=".")).content
    for word in words:
        assert word in read
        assert all(line in found for line in word.split("\n"))
    assert kind_by_name(path) or path == "letter"


@pytest.mark.parametrize("name", ["Word, wide", "PowerPoint", "Outlook", "rich text"])
def test_damaged_document_is_refused_or_read_in_part(name: str) -> None:
    path, data, _ = OLD[name]
    for size in (20, 600, len(data) // 2, len(data) - 5):
        said = answer({"name": path, "part": 1, "line": 1, "room": 1000}, data[:size])
        assert said.get("count") or "." in said["error"]


def test_hidden_words_of_rich_text_are_left_out() -> None:
    data = rb"{\rtf1{\*\generator Secret}{\info{\title Secret}}Shown {\v Secret}\v0 too\htmlrtf Secret\htmlrtf0{\*\xyz Secret}}"
    assert parts(data, "a.rtf") == {"page 1 of 1": "Shown too"}


def test_compressed_rich_text() -> None:
    """The example of [MS-OXRTFCP] 3.1.1."""
    data = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    assert decompressed(data) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"

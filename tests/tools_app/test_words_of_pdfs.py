"""Tests that each word of a PDF is read and found: cut words, files and forms within it, contents, links, scans."""

from io import BytesIO

import pytest
from PIL import Image

from tests.tools_app.conftest import Call
from tests.tools_app.pdfs import PDFS, pdf
from tools_app.errors import ToolError
from tools_app.files import Workspace


@pytest.mark.parametrize("name", PDFS)
async def test_words_of_a_pdf(call: Call, workspace: Workspace, name: str) -> None:
    data, words, absent = PDFS[name]
    workspace.write_bytes("a.pdf", data)
    read = (await call("file", action="read", path="a.pdf")).content
    found = (await call("match", action="grep", pattern=".")).content
    for word in words:
        assert word in read
        assert word in found
    assert not [text for text in absent if text in read]


async def test_part_of_a_page_is_drawn_larger(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.pdf", pdf(["first line"], ["second page"]))
    whole = await call("file", action="read", path="a.pdf", view="picture", offset=2)
    assert "view='picture top left'" in whole.content
    part = await call("file", action="read", path="a.pdf", view="picture top left", offset=2)
    assert part.content == ".results/a-2-top-left.png shows top left of page 2 of a.pdf."
    sizes = [_ink(workspace, result.images[0]) for result in (whole, part)]
    assert sizes[1] > 2 * sizes[0]
    empty = await call("file", action="read", path="a.pdf", view="picture bottom right")
    assert _ink(workspace, empty.images[0]) == 0
    with pytest.raises(ToolError, match="view is text, source, picture"):
        await call("file", action="read", path="a.pdf", view="picture upper")


def _ink(workspace: Workspace, path: str) -> int:
    """Return the number of dark pixels."""
    image = Image.open(BytesIO(workspace.read_bytes(path))).convert("L")
    assert max(image.size) == 1568
    return sum(image.histogram()[:128])

"""Tests of the PDFs that the tool `file` makes of Markdown and HTML."""

from collections.abc import Awaitable, Callable

import pytest
from pypdfium2 import PdfDocument, raw  # type: ignore[import-untyped]

from tests.pictures import picture
from tools_app.contract import ToolResult
from tools_app.files import Workspace

Call = Callable[..., Awaitable[ToolResult]]
MARKDOWN = """# Report

An **important** word, `code` and a [link](https://a.example).

- one
  - inner

3. third

> A quotation

```
def f():
    pass
```

| Quarter | Sum |
|---|---:|
| Q1 | 113.9 |

![A bee](bee.png) ![gone](no.png)
"""
HTML = """<!DOCTYPE html><title>T</title><script>secret()</script><h1>Report</h1><p>An <b>important</b> word,
<code>code</code> and a <a href="https://a.example">link</a>.<ul><li>one<ul><li>inner</ul></ul><ol start="3"><li>third</ol>
<blockquote>A quotation</blockquote><pre>def f():
    pass</pre><table><tr><th>Quarter<th>Sum<tr><td>Q1<td>113.9</table><p style="display: none">hidden</p>
<img alt="A bee" src="bee.png"><img src="no.png" alt="gone">"""


@pytest.mark.parametrize("text", [MARKDOWN, HTML], ids=["Markdown", "HTML"])
async def test_words_tables_and_pictures_are_shown(call: Call, workspace: Workspace, text: str) -> None:
    workspace.write_bytes("out/bee.png", picture(80, 60))
    result = await call("file", action="write", path="out/report.pdf", content=text)
    assert result.content.startswith("Created out/report.pdf: 1 page, ")
    assert "no.png" in result.content
    assert "bee.png" not in result.content
    (page,) = PdfDocument(workspace.read_bytes("out/report.pdf"))
    shown = " ".join(page.get_textpage().get_text_range().split())
    assert "Report An important word, code and a link." in shown
    for words in ("one", "inner", "3. third", "A quotation", "def f(): pass", "Quarter Sum Q1 113.9", "[gone]"):
        assert words in shown
    assert "secret" not in shown
    assert "hidden" not in shown
    assert len([*page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE])]) == 1


async def test_long_documents_have_pages_and_an_outline(call: Call, workspace: Workspace) -> None:
    text = "".join(f"## Chapter {number}\n\n{'many words ' * 300}\n\n" for number in range(1, 6))
    result = await call("file", action="write", path="a.PDF", content=text)
    document = PdfDocument(workspace.read_bytes("a.PDF"))
    assert f"{len(document)} pages" in result.content
    assert len(document) > 2
    assert [entry.get_title() for entry in document.get_toc()] == [f"Chapter {number}" for number in range(1, 6)]


async def test_pictures_come_from_the_workspace_alone(call: Call, workspace: Workspace) -> None:
    text = "![a](/etc/hostname) ![b](https://evil.example/x.png) ![c](../../x.png)"
    result = await call("file", action="write", path="a.pdf", content=text)
    assert "/etc/hostname, https://evil.example/x.png, ../../x.png" in result.content


async def test_bytes_of_a_pdf_are_kept(call: Call, workspace: Workspace) -> None:
    await call("file", action="write", path="a.pdf", content="%PDF-1.4 by hand")
    assert workspace.read_bytes("a.pdf") == b"%PDF-1.4 by hand"

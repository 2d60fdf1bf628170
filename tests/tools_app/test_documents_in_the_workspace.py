"""Tests that the tool `file` reads documents by page, and that a model which follows its hints sees each line once."""

import re
import zipfile
from dataclasses import replace
from io import BytesIO

import pytest
from PIL import Image

from tests.tools_app import documents, workbooks
from tests.tools_app.conftest import Call
from tools_app.contract import ToolContext
from tools_app.errors import ToolError
from tools_app.files import Workspace

HINT = re.compile(r'Next page: file\(action="read", path="([^"]+)", (.+)\)\]')


@pytest.fixture
def tool_context(tool_context: ToolContext) -> ToolContext:
    return replace(tool_context, page_bytes=4_000)


async def followed(call: Call, path: str, **first: int) -> list[str]:
    """Return the contents of all results for a model that only makes the calls that results name."""
    arguments, contents = dict(first), [""]
    while arguments is not None and len(contents) < 100:
        result = await call("file", action="read", path=path, **arguments)
        assert result.cut == "none"
        assert len(result.content.encode()) <= 4_000
        contents.append(result.content)
        hint = HINT.search(result.content)
        if not hint:
            return contents[1:]
        assert hint[1] == path
        arguments = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", hint[2])}
    raise AssertionError("it never ends")


async def test_each_pdf_page_is_shown_once(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.pdf", documents.pdf(*(f"Words of page {number}" for number in range(1, 301))))
    contents = await followed(call, "a.pdf")
    assert contents[0].startswith("(PDF, 300 pages)\n--- page 1 of 300 ---\nWords of page 1\n--- page 2 of 300 ---")
    seen = [int(number) for number in re.findall(r"Words of page (\d+)", "\n".join(contents))]
    assert seen == list(range(1, 301))


async def test_negative_offset_reads_the_last_pages(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.pdf", documents.pdf("one", "two", "three"))
    last = await call("file", action="read", path="a.pdf", offset=-1)
    assert last.content == "--- page 3 of 3 ---\nthree\n[page 3 of 3: the end of the document]"
    assert (await call("file", action="read", path="a.pdf", offset=-9)).content.startswith("(PDF, 3 pages)\n--- page 1")
    picture = await call("file", action="read", path="a.pdf", offset=-2, view="picture")
    assert picture.content.startswith(".results/a-2.png shows page 2 of a.pdf.")


async def test_long_sheet_continues_within_itself(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.csv", "".join(f"row {number},x\n" for number in range(1, 201)).encode())
    assert (await call("file", action="read", path="a.csv", limit=1)).content.startswith("     1\trow 1,x")
    workspace.write_bytes("a.xlsx", documents.rows(600))
    contents = await followed(call, "a.xlsx")
    assert "(Excel workbook, 1 sheet)\n--- sheet Sheet: 600 rows × 1 column ---\n[Many rows: " in contents[0]
    assert "|  | A |\n| 1 | row 1 |" in contents[0]
    assert [int(number) for number in re.findall(r"row (\d+) \|", "\n".join(contents))] == list(range(1, 601))


async def test_offset_and_limit_select_pages(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.pdf", documents.pdf("one", "two", "three"))
    result = await call("file", action="read", path="a.pdf", offset=2, limit=1)
    assert result.content == "--- page 2 of 3 ---\ntwo\n[page 2 of 3; the next one is offset=3]"
    with pytest.raises(ToolError, match=r"There is no page 4: a.pdf has 3"):
        await call("file", action="read", path="a.pdf", offset=4)


async def test_text_formats_are_shown_as_source_or_text(call: Call, workspace: Workspace) -> None:
    """Formats that a model edits are shown as lines, others as text. `view` reverses both."""
    workspace.write_bytes("a.html", b"<h1>Bees</h1>")
    workspace.write_bytes("a.eml", documents.mail())
    assert (await call("file", action="read", path="a.html")).content == "     1\t<h1>Bees</h1>"
    assert "# Bees" in (await call("file", action="read", path="a.html", view="text")).content
    assert "Dear Ada" in (await call("file", action="read", path="a.eml")).content
    assert "\tFrom: Zo" not in (await call("file", action="read", path="a.eml")).content
    assert "     1\tFrom:" in (await call("file", action="read", path="a.eml", view="source")).content


async def test_a_page_as_a_picture(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("in/a.pdf", documents.pdf("one", "two"))
    result = await call("file", action="read", path="in/a.pdf", view="picture", offset=2)
    assert result.images == [".results/a-2.png"]
    assert workspace.read_bytes(".results/a-2.png").startswith(b"\x89PNG")
    workspace.write_bytes("a.docx", documents.word())
    with pytest.raises(ToolError, match="only pages of a PDF can be drawn"):
        await call("file", action="read", path="a.docx", view="picture")
    with pytest.raises(ToolError, match="There is no page 3"):
        await call("file", action="read", path="in/a.pdf", view="picture", offset=3)


async def test_several_pages_come_as_one_sheet(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.pdf", documents.pdf("one", "two", "three", "four", "five"))
    result = await call("file", action="read", path="a.pdf", view="picture", limit=4)
    assert result.content == (
        ".results/a-1-4.png shows pages 1 to 4 of a.pdf.\n[pages 1 to 4 of 5; the next one is offset=5]"
    )
    assert result.images == [".results/a-1-4.png"]
    sheet = Image.open(BytesIO(workspace.read_bytes(".results/a-1-4.png"))).convert("L")
    assert max(sheet.size) <= 1568
    quarters = [
        sheet.crop((left, top, left + sheet.width // 2, top + sheet.height // 2))
        for top in (0, sheet.height // 2)
        for left in (0, sheet.width // 2)
    ]
    labels = [quarter.crop((0, 0, 120, 28)).tobytes() for quarter in quarters]
    drawings = [quarter.crop((0, 40, quarter.width - 10, quarter.height - 10)).tobytes() for quarter in quarters]
    assert len(set(labels)) == len(set(drawings)) == 4, "each page has its number and its text"
    last = await call("file", action="read", path="a.pdf", view="picture", offset=-1, limit=4)
    assert last.content == ".results/a-5.png shows page 5 of a.pdf."


async def test_a_sheet_has_a_bounded_number_of_pages(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("a.pdf", documents.pdf(*"abcdefghijkl"))
    result = await call("file", action="read", path="a.pdf", view="picture", limit=100)
    assert "shows pages 1 to 9 of a.pdf" in result.content
    assert "the next one is offset=10" in result.content


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (documents.pdf("x", password="y"), "a.bin cannot be read. It is encrypted and needs a password."),
        (documents.report()[:3000], "a.bin cannot be read. It is damaged."),
        (documents.archive({"a.txt": "x"}), "It is an archive, not a document. Unpack it with the shell."),
    ],
)
async def test_unreadable_documents_are_reported(call: Call, workspace: Workspace, data: bytes, reason: str) -> None:
    workspace.write_bytes("a.bin", data)
    with pytest.raises(ToolError, match=re.escape(reason)):
        await call("file", action="read", path="a.bin")


async def test_a_bomb_is_not_unpacked(call: Call, workspace: Workspace) -> None:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("xl/workbook.xml", bytes(11_000_000))
    workspace.write_bytes("a.xlsx", out.getvalue())
    with pytest.raises(ToolError, match="a.xlsx cannot be read. It is too large when unpacked"):
        await call("file", action="read", path="a.xlsx")


async def test_a_workbook_is_read_as_shown_and_as_source(call: Call, workspace: Workspace) -> None:
    values = {"A1": "total", "B1": (1234.5678, 1), "C1": "<f>B1*2</f><v>2469.1356</v>", "D1": "<f>B1+1</f>"}
    sheet = workbooks.cells(values)  # type: ignore[arg-type]
    workspace.write_bytes(
        "a.xlsx", workbooks.xlsx({"S": sheet}, parts={"xl/styles.xml": workbooks.styles("0.00 [$€-407]")})
    )
    shown = (await call("file", action="read", path="a.xlsx")).content
    assert "| 1 | total | 1234.57 € | 2469.1356 | =B1+1 |" in shown
    assert "2 formulas, 1 of them without a stored value, shown as formulas" in shown
    assert 'rounded by their formats; view="source"' in shown
    source = "| 1 | total | 1234.5678 | =B1*2 → 2469.1356 | =B1+1 |"
    assert source in (await call("file", action="read", path="a.xlsx", view="source")).content
    assert source in (await call("file", action="read", path="a.xlsx", formulas=True)).content
    workspace.write_bytes("a.docx", documents.word())
    with pytest.raises(ToolError, match="a.docx cannot be read. It has no source to show: read it without view."):
        await call("file", action="read", path="a.docx", view="source")


async def test_a_long_source_continues_as_source(call: Call, workspace: Workspace) -> None:
    rows = {f"A{number}": f"<f>{number}+1</f><v>{number + 1}</v>" for number in range(1, 601)}
    workspace.write_bytes("a.xlsx", workbooks.xlsx({"S": workbooks.cells(rows)}))
    result = await call("file", action="read", path="a.xlsx", view="source")
    assert 'view="source"' in HINT.search(result.content)[0]  # type: ignore[index]


async def test_cells_are_found_as_they_are_shown(call: Call, workspace: Workspace) -> None:
    sheet = workbooks.cells({"A1": "zip", "B1": (1067, 1)})
    workspace.write_bytes("in/a.xlsx", workbooks.xlsx({"S": sheet}, parts={"xl/styles.xml": workbooks.styles("00000")}))
    found = (await call("match", action="grep", pattern="01067")).content
    assert "in/a.xlsx offset=1 (sheet S)" in found
    assert "| 1 | zip | 01067 |" in found

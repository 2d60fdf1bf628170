"""Tests of the document reader: each format by page, sheet or slide, with headers, notes and comments."""

import json
import random
from datetime import UTC, datetime
from io import BytesIO

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import Text

from tests.tools_app import documents
from tools_app.documents.child import answer
from tools_app.documents.reader import read_document


def parts(data: bytes, name: str = "", **request: int) -> dict[str, str]:
    """Return the text of each part by its title, as the child process answers."""
    said = answer({"name": name, "part": 1, "line": 1, "room": 100_000} | request, data)
    assert "error" not in said, said
    return {part["title"]: "\n".join(part["lines"]) for part in said["parts"]}


def refusal(data: bytes, name: str = "") -> str:
    return str(answer({"name": name, "part": 1, "line": 1, "room": 100_000}, data)["error"])


def test_word() -> None:
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert parts(documents.report()) == {
        "page 1 of 2": "Tracked changes, not accepted: 1 insertion, 1 deletion by Ada. Shown as [-deleted-] and {+inserted+}."
        " On page 2.\n"
        "Header: Bee Institute\nFooter: Confidential\n\nIn a content control\n\n## Findings\n\nBees fly",
        "page 2 of 2": "- They rest[comment 0][^1]{+ well+}[- badly-]\n\n| Inner |\n\n"
        f"[comment 0]: Ada, {today}, on “They rest”: At night?\n[^1]: Seen in 2025",
    }


def test_excel() -> None:
    assert parts(documents.costs()) == {
        "sheet Costs: 5 rows × 2 columns": "[1 formula without a stored value, shown as formulas; "
        'view="source" shows formulas and stored numbers]\n'
        "|  | A | B |\n| 1 | Day | Euro |\n| 3 | 2026-02-03 | 2.5 |\n| 4 | 2026-02-03 4:05:00 | TRUE |\n"
        "| 5 |  | =SUM(B3:B4) |\nFooter: Draft\nComment on A3 (Ada): Carnival",
        "sheet Secret (hidden): empty": "",
    }
    assert "| 5 |  | 3.5 |" in parts(documents.computed())["sheet Costs: 5 rows × 2 columns"]


def test_powerpoint() -> None:
    assert parts(documents.slides()) == {
        "slide 1 of 2": "# Figures\n|  | Cell |\nChart:\n|  | Hives |\n| May | 3 |",
        "slide 2 of 2 (hidden)": "",
    }


def test_pdf_with_a_note_and_a_page_that_is_damaged() -> None:
    writer = PdfWriter(clone_from=PdfReader(BytesIO(documents.pdf("Bees fly", ""))))
    writer.add_annotation(0, Text(rect=(1, 1, 9, 9), text="Do they?"))
    out = BytesIO()
    writer.write(out)
    read = parts(out.getvalue())
    assert read["page 1 of 2"] == "Bees fly\n\nNote: Do they?"
    assert "such as a scan" in read["page 2 of 2"]


def test_opendocument_text() -> None:
    body = (
        '<text:h text:outline-level="2">Bees</text:h><text:p>They<text:s text:c="2"/>fly<text:note><text:note-citation>1'
        "</text:note-citation><text:note-body><text:p>High</text:p></text:note-body></text:note> far</text:p>"
        "<text:soft-page-break/><text:list><text:list-item><text:p>rest</text:p></text:list-item></text:list>"
        '<table:table><table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>x</text:p>'
        "</table:table-cell></table:table-row></table:table>"
    )
    styles = "<style:header><text:p>Institute</text:p></style:header>"
    assert parts(documents.opendocument("text", body, styles)) == {
        "page 1 of 2": "Header: Institute\n## Bees\n\nThey  fly[^1] far\n\n[^1]: High",
        "page 2 of 2": "- rest\n| x | x |",
    }


def test_opendocument_spreadsheet_that_repeats_cells_without_end() -> None:
    empty = '<table:table-row table:number-rows-repeated="1048574"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
    row = "<table:table-row><table:table-cell><text:p>Day</text:p></table:table-cell></table:table-row>"
    read = parts(documents.opendocument("spreadsheet", f'<table:table table:name="Costs">{empty}{row}</table:table>'))
    assert "|  | A |\n| 1048575 | Day |" in read["sheet Costs: 1,048,575 rows × 1 column"]


def test_opendocument_spreadsheet_with_hidden_and_merged_parts_and_formulas() -> None:
    cell = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>"
    title = cell.format(' table:number-columns-spanned="3" table:number-rows-spanned="1"', "Title")
    share = cell.format(' office:value-type="percentage" table:formula="of:=[.A1]/8"', "12.50 %")
    noted = "<office:annotation><text:p>Why?</text:p></office:annotation>"
    rows = (
        f'<table:table-row>{title}<table:covered-table-cell table:number-columns-repeated="2"/></table:table-row>',
        f'<table:table-row table:visibility="collapse">{cell.format("", "a|b")}{cell.format("", "x")}</table:table-row>',
        f"<table:table-row>{share}<table:table-cell>{noted}<text:p>z</text:p></table:table-cell></table:table-row>",
    )
    columns = '<table:table-column/><table:table-column table:visibility="collapse" table:number-columns-repeated="2"/>'
    body = f'<table:table table:name="Plan" table:style-name="t1">{columns}{"".join(rows)}</table:table>'
    style = '<style:style style:name="t1"><style:table-properties table:display="false"/></style:style>'
    styles = f"<office:automatic-styles>{style}</office:automatic-styles><office:body>"
    data = documents.opendocument("spreadsheet", body)
    data = documents._with(data, "content.xml", b"<office:body>", styles.encode())
    assert parts(data) == {
        "sheet Plan (hidden): 3 rows × 2 columns": "[A1:C1 merged]\n"
        '[1 formula; view="source" shows formulas and stored numbers]\n'
        "|  | A | B (hidden) |\n| 1 | Title |\n| 2 (hidden) | a|b | x |\n| 3 | 12.50 % | z |\nComment on B3: Why?"
    }
    assert "| 3 | =[.A1]/8 → 12.50 % | z |" in "".join(parts(data, is_source=True).values())


def test_opendocument_presentation() -> None:
    page = "<draw:page><draw:frame><text:p>{}</text:p></draw:frame><presentation:notes><text:p>Say</text:p></presentation:notes></draw:page>"
    assert parts(documents.opendocument("presentation", page.format("One") + page.format("Two"))) == {
        "slide 1 of 2": "One\n\nNotes: Say",
        "slide 2 of 2": "Two\n\nNotes: Say",
    }


def test_epub() -> None:
    assert parts(documents.book()) == {"chapter 1 of 2": "# One\n\nBees fly — high", "chapter 2 of 2": "They rest"}


def test_mail_with_attachments() -> None:
    read = parts(documents.mail(), "letter.eml")
    assert read["message"] == "From: Zoë <zoe@example.org>\nSubject: Bees\n\nDear Ada"
    assert read["attachment bees.pdf, page 1 of 1"] == "Bees fly"
    assert read["attachment bee.png"].startswith("[image/png, 8 bytes: ")
    assert read["attachment message/rfc822, message"] == "Subject: Inner\n\nEarlier words"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_tables_in_any_encoding(encoding: str) -> None:
    data = 'Käse;"a\nb"\r\nBrot;2,5\r\n'.encode(encoding)
    assert parts(data, "x.csv") == {"sheet 1 of 1: 2 rows × 2 columns": "| 1 | Käse | a b |\n| 2 | Brot | 2,5 |"}


def test_notebook() -> None:
    outputs = [
        {"output_type": "stream", "text": ["3\n"]},
        {"output_type": "display_data", "data": {"image/png": "iVBO", "text/plain": "<Figure>"}},
        {"output_type": "error", "ename": "KeyError", "evalue": "'x'"},
    ]
    cells = [
        {"cell_type": "markdown", "source": "# Bees"},
        {"cell_type": "code", "source": ["1 +\n", "2"], "outputs": outputs},
    ]
    assert parts(json.dumps({"cells": cells}).encode(), "x.ipynb") == {
        "cell 1 of 2": "# Bees",
        "cell 2 of 2": "```\n1 +\n2\n```\nOutput:\n3\n\nOutput:\n<Figure>\n[picture: image/png]\nError: KeyError: 'x'",
    }


@pytest.mark.parametrize(
    "html", ["<p>Käse".encode(), "<p>Käse".encode("cp1252"), '<meta charset="cp1251"><p>Сыр'.encode("cp1251")]
)
def test_html_in_any_encoding(html: bytes) -> None:
    assert parts(html, "x.html")["page 1 of 1"] in ("Käse", "Сыр")


async def test_excerpts_contain_whole_lines_within_the_limit() -> None:
    data = documents.pdf(*(f"page {number}" for number in range(5)))
    document = await read_document(data, "x.pdf", part=2, room=70)
    assert (document.kind, document.unit, document.count) == ("PDF", "page", 5)
    assert [(part.number, part.line, part.lines, part.whole) for part in document.parts] == [
        (2, 1, ["page 1"], True),
        (3, 1, ["page 2"], True),
    ]
    text = "\n".join(map(str, range(10)))
    document = await read_document(json.dumps({"cells": [{"source": text}]}).encode(), "x.ipynb", line=4, room=27)
    assert [(part.line, part.lines, part.whole) for part in document.parts] == [(4, ["3", "4", "5"], False)]


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (documents.pdf("x", password="y"), "", "encrypted and needs a password"),
        (documents.pdf("x")[:300], "", "damaged"),
        (documents.report()[:3000], "", "damaged"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le"), "", "encrypted"),
        (bytes.fromhex("d0cf11e0a1b11ae1"), "", "before 2007"),
        (documents.opendocument("text", "", manifest="<manifest:encryption-data/>"), "", "encrypted"),
        (b"{}", "x.ipynb", "damaged"),
        (b"[]", "x.ipynb", "damaged"),
        (b"", "x.html", "damaged"),
        (documents.archive({"word/document.xml": "0" * 11_000_000}), "", "damaged"),
        (b"words", "x.txt", "no document"),
    ],
)
def test_unreadable_documents_are_reported(data: bytes, name: str, reason: str) -> None:
    assert reason in refusal(data, name)


def test_entities_are_not_resolved() -> None:
    lol = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd"><!ENTITY b "%s">]>' % ("b" * 1000)
    data = documents.opendocument("text", "<text:p>&a;&b;</text:p>")
    data = documents._with(data, "content.xml", b"<office:document-content", lol.encode() + b"<office:document-content")
    assert parts(data) == {"page 1 of 1": ""}


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (documents.variant(documents.word(), b"application/vnd.ms-word.document.macroEnabled.main+xml"), "They fly."),
        (
            documents.variant(
                documents.powerpoint(),
                b"application/vnd.openxmlformats-officedocument.presentationml.slideshow.main+xml",
            ),
            "Body of First",
        ),
    ],
    ids=["docm", "ppsx"],
)
def test_templates_slide_shows_and_macro_files(data: bytes, found: str) -> None:
    assert found in "".join(parts(data).values())


def test_mail_with_unknown_charset_and_attachment_type() -> None:
    head = b"Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=klingon\r\n\r\n"
    odd = b"\r\n--b\r\nContent-Type: multipart/odd; boundary=c\r\nContent-Disposition: attachment\r\n\r\n--c\r\n\r\nx\r\n--c--\r\n--b--\r\n"
    read = parts(head + b"words" + odd, "x.eml")
    assert "words" in read["message"]
    assert read["attachment text/plain"] == "x"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (documents.pdf("x", "y"), ""),
        (documents.report(), ""),
        (documents.costs(), ""),
        (documents.slides(), ""),
        (documents.opendocument("text", "<text:p>x</text:p>"), ""),
        (documents.book(), ""),
        (documents.mail(), "x.eml"),
    ],
    ids=["pdf", "docx", "xlsx", "pptx", "odt", "epub", "eml"],
)
def test_damaged_files_give_text_or_an_error_sentence(data: bytes, name: str) -> None:
    chance = random.Random(len(data))
    for _ in range(30):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 20, 200))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        end = len(data) if chance.random() < 0.8 else chance.randrange(len(data))
        said = answer({"name": name, "part": 1, "line": 1, "room": 10_000}, bytes(damaged[:end]))
        assert said.get("error", "").endswith(".") or said["parts"]

"""Documents for tests, made by the libraries of their formats."""

import re
import zipfile
from collections.abc import Mapping
from datetime import date, datetime
from email.message import EmailMessage
from io import BytesIO
from typing import Any

import docx
import openpyxl
import pptx
from docx.enum.text import WD_BREAK
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from openpyxl.comments import Comment
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def pdf(*pages: str, password: str = "") -> bytes:
    """Return a PDF with a page for each text."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(300, 300)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
    if password:
        writer.encrypt(password)
    return _bytes(writer.write)


def word() -> bytes:
    document = docx.Document()
    document.core_properties.title = "Bees"
    document.add_heading("On bees", 1)
    document.add_paragraph("They fly.")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Kind", "Weight"
    document.add_paragraph("They rest.")
    return _bytes(document.save)


def excel() -> bytes:
    workbook = openpyxl.Workbook()
    workbook.active.title = "Weights"
    workbook.active.append(["Kind", "Grams"])
    workbook.active.append(["Honey bee", 0.1])
    workbook.create_sheet("Empty")
    return _bytes(workbook.save)


def powerpoint() -> bytes:
    deck = pptx.Presentation()
    for title in ("First", "Second"):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = f"Body of {title}"
    slide.notes_slide.notes_text_frame.text = "Say this"
    return _bytes(deck.save)


def _bytes(save: object) -> bytes:
    out = BytesIO()
    save(out)  # type: ignore[operator]
    return out.getvalue()


def report() -> bytes:
    """Return a Word document of two pages with all kinds of content other than paragraphs."""
    document = docx.Document()
    section = document.sections[0]
    section.header.paragraphs[0].text = "Bee Institute"
    section.footer.paragraphs[0].text = "Confidential"
    document.add_heading("Findings", 2)
    document.add_paragraph("Bees fly").add_run().add_break(WD_BREAK.PAGE)
    paragraph = document.add_paragraph("They rest", style="List Bullet")
    document.add_comment(paragraph.runs[0], text="At night?", author="Ada")
    _element(paragraph, "<w:r><w:footnoteReference w:id='7'/></w:r>")
    _element(paragraph, "<w:ins w:id='90' w:author='Ada'><w:r><w:t> well</w:t></w:r></w:ins>")
    _element(paragraph, "<w:del w:id='91' w:author='Ada'><w:r><w:delText> badly</w:delText></w:r></w:del>")
    control = "<w:sdt><w:sdtContent><w:p><w:r><w:t>In a content control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    document.element.body.insert(0, parse_xml(control.replace("<w:sdt", f"<w:sdt {nsdecls('w')}", 1)))
    table = document.add_table(1, 1)
    table.cell(0, 0).add_table(1, 1).cell(0, 0).text = "Inner"
    notes = (
        f"<w:footnotes {nsdecls('w')}><w:footnote w:id='7'><w:p><w:r><w:t>Seen in 2025</w:t></w:r></w:p></w:footnote>"
    )
    part = Part(
        PackURI("/word/footnotes.xml"),
        CONTENT_TYPE.WML_FOOTNOTES,
        f"{notes}</w:footnotes>".encode(),
        document.part.package,
    )
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    return _bytes(document.save)


def _element(paragraph: Any, xml: str) -> None:
    name = re.match(r"<([\w:]+)", xml)
    assert name
    paragraph._p.append(parse_xml(xml.replace(name[0], f"{name[0]} {nsdecls('w')}", 1)))


def costs() -> bytes:
    """Return a workbook with dates, a formula without a value, a comment, a footer, a gap and a hidden sheet."""
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Costs"
    sheet["A1"], sheet["B1"] = "Day", "Euro"
    sheet["A3"], sheet["B3"] = date(2026, 2, 3), 2.5
    sheet["A4"], sheet["B4"] = datetime(2026, 2, 3, 4, 5), True
    sheet["B5"] = "=SUM(B3:B4)"
    sheet["A3"].comment = Comment("Carnival", "Ada")
    sheet.oddFooter.center.text = "Draft"
    workbook.create_sheet("Secret").sheet_state = "hidden"
    return _bytes(workbook.save)


def computed() -> bytes:
    """Return the same workbook as a program that computes formulas leaves it."""
    return _with(costs(), "xl/worksheets/sheet1.xml", b"<v></v>", b"<v>3.5</v>") or _with(
        costs(), "xl/worksheets/sheet1.xml", b"<v />", b"<v>3.5</v>"
    )


def _with(archive: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """Return the archive with a text of an entry replaced, or an empty one if the text does not occur."""
    out = BytesIO()
    found = False
    with zipfile.ZipFile(BytesIO(archive)) as before, zipfile.ZipFile(out, "w") as after:
        for entry in before.namelist():
            data = before.read(entry)
            found |= entry == name and old in data
            after.writestr(entry, data.replace(old, new) if entry == name else data)
    return out.getvalue() if found else b""


def slides() -> bytes:
    """Return a deck with a table, a chart and a hidden slide."""
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Figures"
    slide.shapes.add_table(1, 2, 0, 0, 99, 99).table.cell(0, 1).text = "Cell"
    data = CategoryChartData()
    data.categories = ["May"]
    data.add_series("Hives", (3,))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 99, 99, data)
    deck.slides.add_slide(deck.slide_layouts[6]).element.set("show", "0")
    return _bytes(deck.save)


_ODF = (
    " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table", "presentation", "style", "manifest")
    )
    + ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
)


def opendocument(kind: str, body: str, styles: str = "", manifest: str = "") -> bytes:
    """Return an OpenDocument file. `kind` is text, spreadsheet or presentation, `body` the content of office:body."""
    content = f"<office:document-content {_ODF}><office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    return archive(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": content,
            "styles.xml": f"<office:document-styles {_ODF}>{styles}</office:document-styles>",
            "META-INF/manifest.xml": f"<manifest:manifest {_ODF}>{manifest}</manifest:manifest>",
        }
    )


def book() -> bytes:
    """Return an EPUB of two chapters whose order in the archive is not the reading order."""
    items = '<item id="b" href="b%20c.xhtml"/><item id="a" href="a.xhtml"/>'
    spine = '<itemref idref="a"/><itemref idref="b"/>'
    package = (
        f'<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        f"<dc:title>Bees</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="in/book.opf"/></rootfiles></container>',
            "in/book.opf": package,
            "in/a.xhtml": "<html><body><h1>One</h1><p>Bees fly — high</p></body></html>",
            "in/b c.xhtml": "<html><body><p>They rest</p></body></html>",
        }
    )


def archive(entries: Mapping[str, str]) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, text in entries.items():
            file.writestr(name, text)
    return out.getvalue()


def mail() -> bytes:
    """Return an HTML e-mail with a PDF, a picture and an e-mail attached."""
    inner = EmailMessage()
    inner["Subject"] = "Inner"
    inner.set_content("Earlier words")
    message = EmailMessage()
    message["From"], message["Subject"] = "Zoë <zoe@example.org>", "Bees"
    message.set_content("<p>Dear <b>Ada</b></p><script>x()</script>", subtype="html")
    message.add_attachment(pdf("Bees fly"), maintype="application", subtype="pdf", filename="bees.pdf")
    message.add_attachment(b"\x89PNG\r\n\x1a\n", maintype="image", subtype="png", filename="bee.png")
    message.add_attachment(inner)
    return bytes(message)


def rows(number: int) -> bytes:
    """Return a workbook of one sheet and one column."""
    workbook = openpyxl.Workbook()
    for position in range(1, number + 1):
        workbook.active.append([f"row {position}"])
    return _bytes(workbook.save)


def variant(data: bytes, main_type: bytes) -> bytes:
    """Return the same Office file as a template, a slide show or a file with macros."""
    ordinary = b"application/vnd.openxmlformats-officedocument.%s.main+xml"
    types = "[Content_Types].xml"
    return _with(data, types, ordinary % b"wordprocessingml.document", main_type) or _with(
        data, types, ordinary % b"presentationml.presentation", main_type
    )

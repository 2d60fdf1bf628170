"""Documents for tests, made by the libraries of their formats."""

from io import BytesIO

import docx
import openpyxl
import pptx
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def pdf(*pages: str, password: str = "") -> bytes:
    """A page for each text."""
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

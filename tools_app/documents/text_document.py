"""The Word reader (.docx): headings, paragraphs, lists, tables and text boxes in order, headers, footers and notes.

A page ends where Word marked it at the last layout (ISO 29500-1, 17.3.3.13, lastRenderedPageBreak), or at a manual page
break. Other programs write no marks: their documents are one page.
"""

from collections.abc import Iterator
from io import BytesIO

import docx
from docx.document import Document as WordDocument
from docx.opc.constants import RELATIONSHIP_TYPE

from tools_app.documents.document import ParsedDocument, pages_of, row
from tools_app.documents.opendocument import Element, attribute, local_name, parse

_SKIPPED = {"delText", "Fallback", "pPr", "rPr", "instrText", "fldData"}  # Fallback repeats the content of Choice
_SPECIAL_CHARACTERS = {"tab": "\t", "noBreakHyphen": "-", "cr": "\n"}
_NOTES = {  # referring element → its mark, the part with the notes, and their element there (17.11, 17.13.4)
    "footnoteReference": ("^", RELATIONSHIP_TYPE.FOOTNOTES, "footnote"),
    "endnoteReference": ("^e", RELATIONSHIP_TYPE.ENDNOTES, "endnote"),
    "commentReference": ("comment ", RELATIONSHIP_TYPE.COMMENTS, "comment"),
}


def open_document(body: bytes) -> ParsedDocument:
    document = docx.Document(BytesIO(body))
    reader = _PageReader(document)
    reader.read(document.element.body)
    reader.end_page()
    reader.pages[0][:0] = _headers_and_footers(document)
    parts = pages_of(reader.pages, "page")
    return ParsedDocument(kind="Word document", unit="page", title=document.core_properties.title or "", parts=parts)


class _PageReader:
    """The finished pages, and the lines and notes of the current one."""

    def __init__(self, document: WordDocument) -> None:
        self.pages: list[list[str]] = []
        self._lines: list[str] = []
        self._page_notes: list[str] = []
        self._notes = {key: text for name in _NOTES for key, text in _notes(document, name)}
        self._styles = {style.style_id: style.name or "" for style in document.styles}

    def read(self, block: Element) -> None:
        """Read paragraphs and tables. Other elements (content controls, insertions) contain such blocks."""
        for child in block:
            if (name := local_name(child)) == "p":
                self._paragraph(child)
            elif name == "tbl":
                self._table(child)
            elif name not in _SKIPPED:
                self.read(child)

    def end_page(self) -> None:
        self.pages.append([*self._lines, "", *self._page_notes])
        self._lines, self._page_notes = [], []

    def _paragraph(self, paragraph: Element) -> None:
        before, *others = self._text(paragraph).split("\f")
        prefix = self._paragraph_prefix(paragraph)
        if before.strip():
            self._lines += [prefix + before, ""]
        for text in others:
            self.end_page()
            if text.strip():
                self._lines += [text if before.strip() else prefix + text, ""]

    def _table(self, table: Element) -> None:
        for cells in table.iter("{*}tr"):
            if cells.getparent() is not table and local_name(cells.getparent()) not in ("sdtContent", "ins"):
                continue  # a row of a nested table, whose text is in the outer cell
            texts = [self._text(cell) for cell in cells.iterchildren("{*}tc", "{*}sdt")]
            self._lines.append(row([text.replace("\f", " ") for text in texts]))
            if any("\f" in text for text in texts):
                self.end_page()
        self._lines.append("")

    def _text(self, element: Element) -> str:
        """Return the text of the element, with a form feed at each page break."""
        texts = []
        for child in element:
            name = local_name(child)
            if name == "t":  # of a run, or of mathematics
                texts.append(child.text or "")
            elif name == "br":
                texts.append("\f" if attribute(child, "type") == "page" else "\n")
            elif name == "lastRenderedPageBreak":
                texts.append("\f")
            elif name in _NOTES:
                texts.append(self._note_mark(name, attribute(child, "id")))
            elif name == "docPr" and (description := child.get("descr")):
                texts.append(f"[picture: {description}]")
            elif name not in _SKIPPED:
                texts.append(_SPECIAL_CHARACTERS.get(name, "") + self._text(child) + ("\n" if name == "p" else ""))
        return "".join(texts)

    def _note_mark(self, name: str, number: str) -> str:
        mark = f"[{_NOTES[name][0]}{number}]"
        text = self._notes.get(mark, "")
        if not text:
            return ""
        self._page_notes.append(f"{mark}: {text}")
        return mark

    def _paragraph_prefix(self, paragraph: Element) -> str:
        style_element = paragraph.find("./{*}pPr/{*}pStyle")
        style = self._styles.get(attribute(style_element, "val"), "") if style_element is not None else ""
        if style.startswith("Heading ") and style[8:].isdigit():
            return "#" * min(int(style[8:]), 6) + " "
        is_list = style.startswith("List") or paragraph.find("./{*}pPr/{*}numPr") is not None
        return {"Title": "# "}.get(style, "- " if is_list else "")


def _notes(document: WordDocument, reference: str) -> Iterator[tuple[str, str]]:
    """Yield mark and text of each note that `reference` elements name."""
    mark, relation, name = _NOTES[reference]
    for relationship in document.part.rels.values():
        if relationship.reltype == relation and not relationship.is_external:
            for note in parse(relationship.target_part.blob).iter(f"{{*}}{name}"):
                author = attribute(note, "author")
                text = " ".join("".join(note.itertext("{*}t")).split())
                yield f"[{mark}{attribute(note, 'id')}]", f"{author}: {text}" if author else text


def _headers_and_footers(document: WordDocument) -> Iterator[str]:
    """Yield the distinct headers and footers of all sections."""
    seen: set[str] = set()
    for section in document.sections:
        kinds = {
            "Header": (section.header, section.first_page_header, section.even_page_header),
            "Footer": (section.footer, section.first_page_footer, section.even_page_footer),
        }
        for kind, variants in kinds.items():
            for variant in variants:
                paragraphs = ("".join(paragraph.itertext("{*}t")) for paragraph in variant._element.iter("{*}p"))
                text = " ".join(" ".join(paragraphs).split())
                line = f"{kind}: {text}"
                if text and line not in seen:
                    seen.add(line)
                    yield line
    if seen:
        yield ""

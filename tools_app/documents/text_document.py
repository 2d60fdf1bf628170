"""The Word reader (.docx): headings, paragraphs, lists, tables and text boxes in order, headers, footers and notes.

A page ends where Word marked it at the last layout (ISO 29500-1, 17.3.3.13, lastRenderedPageBreak), or at a manual page
break. Other programs write no marks: their documents are one page.
"""

from collections.abc import Iterator
from io import BytesIO

import docx
from docx.document import Document as WordDocument
from docx.opc.constants import RELATIONSHIP_TYPE

from tools_app.documents.document import Document, pages_of, row
from tools_app.documents.opendocument import Element, attribute, local, parse

_SKIPPED = {"delText", "Fallback", "pPr", "rPr", "instrText", "fldData"}  # Fallback repeats the content of Choice
_MARKS = {"tab": "\t", "noBreakHyphen": "-", "cr": "\n"}
_NOTES = {  # referring element → its mark, the part with the notes, and their element there (17.11, 17.13.4)
    "footnoteReference": ("^", RELATIONSHIP_TYPE.FOOTNOTES, "footnote"),
    "endnoteReference": ("^e", RELATIONSHIP_TYPE.ENDNOTES, "endnote"),
    "commentReference": ("comment ", RELATIONSHIP_TYPE.COMMENTS, "comment"),
}


def open_document(body: bytes) -> Document:
    document = docx.Document(BytesIO(body))
    reader = _Reader(document)
    reader.read(document.element.body)
    reader.end_page()
    reader.pages[0][:0] = _margins(document)
    parts = pages_of(reader.pages, "page")
    return Document(kind="Word document", unit="page", title=document.core_properties.title or "", parts=parts)


class _Reader:
    """The finished pages, and the lines and notes of the current one."""

    def __init__(self, document: WordDocument) -> None:
        self.pages: list[list[str]] = []
        self._lines: list[str] = []
        self._noted: list[str] = []
        self._notes = {key: text for name in _NOTES for key, text in _notes(document, name)}
        self._styles = {style.style_id: style.name or "" for style in document.styles}

    def read(self, block: Element) -> None:
        """Read paragraphs and tables. Other elements (content controls, insertions) contain such blocks."""
        for child in block:
            if (name := local(child)) == "p":
                self._paragraph(child)
            elif name == "tbl":
                self._table(child)
            elif name not in _SKIPPED:
                self.read(child)

    def end_page(self) -> None:
        self.pages.append([*self._lines, "", *self._noted])
        self._lines, self._noted = [], []

    def _paragraph(self, paragraph: Element) -> None:
        before, *others = self._words(paragraph).split("\f")
        mark = self._mark(paragraph)
        if before.strip():
            self._lines += [mark + before, ""]
        for words in others:
            self.end_page()
            if words.strip():
                self._lines += [mark + words if not before.strip() else words, ""]

    def _table(self, table: Element) -> None:
        for cells in table.iter("{*}tr"):
            if cells.getparent() is not table and local(cells.getparent()) not in ("sdtContent", "ins"):
                continue  # a row of a nested table, whose text is in the outer cell
            words = [self._words(cell) for cell in cells.iterchildren("{*}tc", "{*}sdt")]
            self._lines.append(row([each.replace("\f", " ") for each in words]))
            if any("\f" in each for each in words):
                self.end_page()
        self._lines.append("")

    def _words(self, element: Element) -> str:
        """Return the text of the element, with a form feed at each page break."""
        said = []
        for child in element:
            name = local(child)
            if name == "t":  # of a run, or of mathematics
                said.append(child.text or "")
            elif name == "br":
                said.append("\f" if attribute(child, "type") == "page" else "\n")
            elif name == "lastRenderedPageBreak":
                said.append("\f")
            elif name in _NOTES:
                said.append(self._reference(name, attribute(child, "id")))
            elif name == "docPr" and (words := child.get("descr")):
                said.append(f"[picture: {words}]")
            elif name not in _SKIPPED:
                said.append(_MARKS.get(name, "") + self._words(child) + ("\n" if name == "p" else ""))
        return "".join(said)

    def _reference(self, name: str, number: str) -> str:
        mark = f"[{_NOTES[name][0]}{number}]"
        if words := self._notes.get(mark, ""):
            self._noted.append(f"{mark}: {words}")
        return mark if words else ""

    def _mark(self, paragraph: Element) -> str:
        found = paragraph.find("./{*}pPr/{*}pStyle")
        style = self._styles.get(attribute(found, "val"), "") if found is not None else ""
        if style.startswith("Heading ") and style[8:].isdigit():
            return "#" * min(int(style[8:]), 6) + " "
        is_list = style.startswith("List") or paragraph.find("./{*}pPr/{*}numPr") is not None
        return {"Title": "# "}.get(style, "- " if is_list else "")


def _notes(document: WordDocument, reference: str) -> Iterator[tuple[str, str]]:
    """Yield mark and text of each note that `reference` elements name."""
    mark, relation, name = _NOTES[reference]
    for each in document.part.rels.values():
        if each.reltype == relation and not each.is_external:
            for note in parse(each.target_part.blob).iter(f"{{*}}{name}"):
                by = attribute(note, "author")
                words = " ".join("".join(note.itertext("{*}t")).split())
                yield f"[{mark}{attribute(note, 'id')}]", f"{by}: {words}" if by else words


def _margins(document: WordDocument) -> Iterator[str]:
    """Yield the distinct headers and footers of all sections."""
    seen: set[str] = set()
    for section in document.sections:
        kinds = {
            "Header": (section.header, section.first_page_header, section.even_page_header),
            "Footer": (section.footer, section.first_page_footer, section.even_page_footer),
        }
        for kind, several in kinds.items():
            for one in several:
                paragraphs = ("".join(each.itertext("{*}t")) for each in one._element.iter("{*}p"))
                words = " ".join(" ".join(paragraphs).split())
                if words and (line := f"{kind}: {words}") not in seen:
                    seen.add(line)
                    yield line
    if seen:
        yield ""

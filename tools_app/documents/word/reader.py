"""The Word reader (.docx): headings, paragraphs, lists, tables and text boxes in order, headers, footers and notes.

A page ends where Word marked it at the last layout (ISO 29500-1, 17.3.3.13, lastRenderedPageBreak), or at a manual page
break. Other programs write no marks: their documents are one page.
"""

from collections.abc import Iterator
from itertools import groupby

from tools_app.documents.document import DAMAGED, ParsedDocument, pages_of, row
from tools_app.documents.office.package import Package, Pictures
from tools_app.documents.opendocument import Element, attribute, local_name
from tools_app.documents.word.fields import Control, control_of
from tools_app.documents.word.notes import Notes, authors_of_changes
from tools_app.documents.word.numbering import Numbering
from tools_app.documents.word.runs import WordFile
from tools_app.documents.word.segments import ChangeLog, is_marked
from tools_app.documents.word.story import Story
from tools_app.documents.word.styles import Styles

_PROPERTIES = {"sectPr", "sdtPr", "sdtEndPr", "customXmlPr"}
_CHANGED_PARTS = ("header", "footer", "footnotes", "endnotes", "comments")


def open_document(body: bytes) -> ParsedDocument:
    """Open a Word document.

    Raises: ValueError.
    """
    package = Package(body)
    path = package.main_part("word/document.xml")
    root = package.main_xml(path, "document")
    reader = _PageReader(package, path, root)
    return ParsedDocument(
        kind="Word document", unit="page", title=package.title(), parts=pages_of(reader.read_pages(root), "page")
    )


class _PageReader:
    """The finished pages, and the lines and notes of the current one."""

    def __init__(self, package: Package, path: str, root: Element) -> None:
        self._package, self._path = package, path
        self._pages: list[list[str]] = []
        self._lines: list[str] = []
        self._page_notes: list[str] = []
        styles = Styles(self._related("styles"))
        others = (package.xml(other) for kind in _CHANGED_PARTS for other in package.related(path, kind))
        roots = [root, *(other for other in others if other is not None)]
        self._changes = ChangeLog(authors_of_changes(iter(roots)))
        self._file = WordFile(
            package=package,
            styles=styles,
            numbering=Numbering(self._related("numbering"), styles),
            pictures=Pictures(package),
            changes=self._changes,
            has_moves=all(next(root.iter(f"{{*}}{name}"), None) is not None for name in ("moveTo", "moveFrom")),
        )
        self._notes = Notes(self._file, path, self._related("settings"), self._page_notes_add)
        self._file.note = self._notes.mark
        self._story = Story(self._file, path, root)

    def read_pages(self, root: Element) -> list[list[str]]:
        """Return the lines of each page."""
        headers = list(self._headers_and_footers(root))
        self._read(root)
        self._notes.remaining_comments()
        if self._path in self._package.damaged_parts:
            self._lines.append(DAMAGED)
        self._end_page()
        summary = self._summary()
        self._pages[0][:0] = [*filter(None, [summary]), *headers, *([""] if summary or headers else [])]
        return self._pages

    def _summary(self) -> str:
        """Return the line about tracked changes, with their pages, or ""."""
        summary = self._changes.summary()
        pages = [number for number, lines in enumerate(self._pages, 1) if any(map(is_marked, lines))]
        if not summary or len(self._pages) == 1:
            return summary
        return f"{summary} On page{'s' if len(pages) > 1 else ''} {', '.join(_ranges(pages))}."

    def _related(self, kind: str) -> Element | None:
        """Return the root of the part of this kind that the document relates to."""
        return next((self._package.xml(path) for path in self._package.related(self._path, kind)), None)

    def _page_notes_add(self, line: str) -> None:
        self._page_notes.append(line)

    def _read(self, block: Element, control: Control | None = None) -> None:
        """Read paragraphs and tables. Other elements (content controls, custom XML) contain such blocks."""
        for child in block:
            if (name := local_name(child)) == "p":
                self._paragraph(child, control)
                control = None
            elif name == "tbl":
                self._table(child)
            elif name == "altChunk":
                self._lines += [*self._story.imported(child), ""]
            elif name == "sdt":
                content = child.find("{*}sdtContent")
                if content is not None:
                    self._read(content, control_of(child.find("{*}sdtPr")))
            elif name not in _PROPERTIES:
                self._read(child)

    def _paragraph(self, element: Element, control: Control | None) -> None:
        try:
            paragraph = self._story.paragraph(element, control=control)
        except Exception:  # noqa: BLE001  a damaged paragraph costs neither its words nor those after it
            self._lines += ["".join(element.itertext("{*}t", "{*}delText")), ""]
            return
        before, *others = paragraph.text.split("\f")
        if before.strip() or (paragraph.prefix.strip(" -#") and not others):
            self._lines += [paragraph.prefix + before, ""]
        for text in others:
            self._end_page()
            if text.strip():
                self._lines += [text if before.strip() else paragraph.prefix + text, ""]
        for attached in paragraph.attached:
            if isinstance(attached, list):
                self._lines += [*attached, ""]
            else:
                self._box(attached)

    def _box(self, box: Element) -> None:
        """Read a text box below the paragraph that holds it."""
        outer, self._lines = self._lines, []
        self._read(box)
        is_text = bool(self._lines) and not self._lines[0].startswith("|")
        self._lines[: 1 if is_text else 0] = [f"[text box] {self._lines[0]}" if is_text else "[text box]"]
        self._lines = outer + self._lines

    def _table(self, table: Element) -> None:
        for cells in self._story.rows(table):
            self._lines.append(row([text.replace("\f", " ") for text in cells]))
            if any("\f" in text for text in cells):
                self._end_page()
        self._lines.append("")

    def _end_page(self) -> None:
        self._pages.append([*self._lines, "", *self._page_notes])
        self._lines = []
        self._page_notes.clear()

    def _headers_and_footers(self, root: Element) -> Iterator[str]:
        """Yield the distinct headers and footers of all sections."""
        relationships = self._package.relationships(self._path)
        seen: set[str] = set()
        for reference in root.iter("{*}headerReference", "{*}footerReference"):
            relationship = relationships.get(attribute(reference, "id"))
            part = self._package.xml(relationship.target) if relationship is not None else None
            if relationship is None or part is None or relationship.target in seen:
                continue
            seen.add(relationship.target)
            kind = local_name(reference)[:6].capitalize()
            text = " ".join(Story(self._file, relationship.target, part).flat(part).split())
            if text and f"{kind}: {text}" not in seen:
                seen.add(f"{kind}: {text}")
                yield f"{kind}: {text}"


def _ranges(numbers: list[int]) -> Iterator[str]:
    """Yield ascending numbers, those that follow one another as a range."""
    for _, members in groupby(enumerate(numbers), lambda place: place[1] - place[0]):
        first, *others = [number for _, number in members]
        yield f"{first} to {others[-1]}" if len(others) > 1 else ", ".join(map(str, [first, *others]))

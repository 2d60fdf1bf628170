"""A story of a Word document (ISO 29500-1, 17.2): the body, a header, a footer, a note or a comment."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from posixpath import basename

from tools_app.documents import formats
from tools_app.documents.document import DocumentParseError
from tools_app.documents.opendocument import Element, attribute, local_name
from tools_app.documents.word.fields import Control, control_of
from tools_app.documents.word.runs import CHANGES, SKIPPED, RunReader, controlled, empty_field
from tools_app.documents.word.segments import Change, Marks, Segment, is_changed, is_removed

_NESTED_ROW = " / "
_NO_MARKS = Marks()


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """The text of a paragraph with form feeds at page breaks, its prefix, and boxes and graphics that follow it."""

    prefix: str
    text: str
    attached: list[Element | list[str]]


class Story(RunReader):
    """A reader of the paragraphs and tables of one part."""

    def flat(self, container: Element, marks: Marks = _NO_MARKS, counted: set[Change] | None = None) -> str:
        """Return the text of a cell, note or header: its blocks in lines."""
        return "\n".join(filter(None, self._flat_lines(container, marks, counted)))

    def _flat_lines(self, container: Element, marks: Marks, counted: set[Change] | None) -> Iterator[str]:
        for child in container:
            if (name := local_name(child)) == "p":
                paragraph = self.paragraph(child, marks=marks, counted=counted)
                yield (paragraph.prefix + paragraph.text).strip(" \n\t")
                for attached in paragraph.attached:
                    yield "\n".join(attached) if isinstance(attached, list) else f"[text box] {self.flat(attached)}"
            elif name == "tbl":
                rows = (" ¦ ".join(cells) for cells in self.rows(child))
                yield _NESTED_ROW.join(rows)
            elif name == "altChunk":
                yield from self.imported(child)
            elif name not in SKIPPED:
                yield from self._flat_lines(child, marks, counted)

    def rows(self, table: Element) -> Iterator[list[str]]:
        """Yield the cells of each row. A cell that goes on to the right is ←, one that goes on downwards is ↑."""
        for table_row in _inside(table, "tr"):
            properties = table_row.find("{*}trPr")
            marks = Marks(change=self._property_change(properties))
            counted: set[Change] = set()
            cells = [""] * _number(properties, "gridBefore")
            for cell, control in _cells(table_row):
                cell_properties = cell.find("{*}tcPr")
                change = self._property_change(cell_properties, "cell")
                text = self.flat(cell, Marks(change=change) if change else marks, counted)
                merge = cell_properties.find("{*}vMerge") if cell_properties is not None else None
                if merge is not None and attribute(merge, "val") != "restart" and not text:
                    text = "↑"
                if control is not None:
                    text = _controlled_text(control, text)
                cells += [text, *["←"] * (_number(cell_properties, "gridSpan") - 1)]
            yield cells

    def imported(self, element: Element) -> Iterator[str]:
        """Yield the lines of a part in another format that Word takes in when it opens the file (17.17.2.1)."""
        relationship = self._relationships.get(attribute(element, "id"))
        data = self._file.package.read(relationship.target) if relationship and not relationship.is_external else None
        if relationship is None or data is None:
            yield "[imported file: missing]"
            return
        try:
            for part in formats.open_document(data, relationship.target).parts:
                yield from part.lines
        except DocumentParseError:
            yield f"[imported file: {basename(relationship.target)}]"

    def _property_change(self, properties: Element | None, prefix: str = "") -> Change | None:
        """Return the change of a row, cell or paragraph mark as a whole (17.13.5)."""
        for child in properties if properties is not None else ():
            for name, kind in CHANGES.items():
                if local_name(child) == (f"{prefix}{name.capitalize()}" if prefix else name):
                    return self._change(child, kind)
        return None

    def paragraph(
        self,
        element: Element,
        *,
        marks: Marks = _NO_MARKS,
        control: Control | None = None,
        counted: set[Change] | None = None,
    ) -> Paragraph:
        """Read a paragraph. `marks` are those of its row, `control` is the content control that it is in."""
        properties = element.find("{*}pPr")
        if self._file.styles.is_hidden(self._file.styles.of_paragraph(properties)):
            marks = replace(marks, is_hidden=True)
        self._segments, self._attached = [], []
        self._children(element, marks)
        if control is not None:
            self._segments = controlled(control, self._segments)
        for texts in self._open_ranges.values():
            texts.append(" ")
        segments, attached = self._segments, self._attached
        change = self._property_change(properties.find("{*}rPr") if properties is not None else None)
        is_gone = is_removed(segments) and change is not None and change.kind.is_removal
        level = self._file.styles.heading_level(properties)
        label = self._file.numbering.label(properties, is_removed=is_gone)
        if label is None and not level and self._file.styles.is_list(self._file.styles.of_paragraph(properties)):
            label = "- "
        heading = f"{'#' * level} " if level else ""
        if level:
            label = "" if label == "- " else label
        if is_gone and label and label.strip() != "-":
            segments.insert(0, Segment(text=label, marks=segments[0].marks))
            label = ""
        has_text = any(segment.text.strip() for segment in segments)
        if change is not None and has_text and not change.move and not is_changed(segments, change.kind):
            segments.append(Segment(text="¶", marks=Marks(change=change)))
        text = self._file.changes.rendered(segments, counted)
        return Paragraph(prefix=f"{heading}{label or ''}", text=text, attached=attached)


def _controlled_text(control: Control, text: str) -> str:
    return control.state or f"{empty_field(control, text) if control.is_empty else text}{control.choices}"


def _inside(element: Element, name: str) -> Iterator[Element]:
    """Yield the elements of this name, also those inside of content controls, changes and custom XML."""
    for child in element:
        if local_name(child) == name:
            yield child
        elif local_name(child) in ("sdt", "sdtContent", "customXml", "ins", "del", "moveTo", "moveFrom"):
            yield from _inside(child, name)


def _cells(table_row: Element) -> Iterator[tuple[Element, Control | None]]:
    """Yield the cells, each with the content control around it."""
    for cell in _inside(table_row, "tc"):
        control = next(cell.iterancestors("{*}sdt", "{*}tr"), None)
        is_controlled = control is not None and local_name(control) == "sdt"
        yield cell, control_of(control.find("{*}sdtPr")) if control is not None and is_controlled else None


def _number(properties: Element | None, name: str) -> int:
    """Return a small number among the properties of a row or cell, or 0."""
    element = properties.find(f"{{*}}{name}") if properties is not None else None
    text = attribute(element, "val") if element is not None else ""
    return min(int(text), 100) if text.isdecimal() else 0

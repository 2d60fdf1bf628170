"""The runs of a paragraph of a Word document (ISO 29500-1, 17.3.2): text, fields, links, pictures and objects."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tools_app.documents.office import equation
from tools_app.documents.office.graphics import graphic_lines
from tools_app.documents.office.package import Package, Pictures, Relationship, embedded_file, extent_of
from tools_app.documents.office.symbols import symbol, with_symbols
from tools_app.documents.opendocument import Element, attribute, local_name
from tools_app.documents.word import fields
from tools_app.documents.word.fields import Control, OpenField, control_of, is_on
from tools_app.documents.word.numbering import Numbering
from tools_app.documents.word.segments import Change, ChangeKind, ChangeLog, Marks, Segment
from tools_app.documents.word.styles import Styles, font_of, run_property

# Properties, and elements whose text is elsewhere or never printed.
SKIPPED = {
    "pPr",
    "rPr",
    "tblPr",
    "tblGrid",
    "trPr",
    "tcPr",
    "sdtPr",
    "sdtEndPr",
    "fldData",
    "rubyPr",
    "sectPr",
    "softHyphen",
}
_CHARACTERS = {"tab": "\t", "ptab": "\t", "noBreakHyphen": "-", "cr": "\n", "lastRenderedPageBreak": "\f"}
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2007": " ", "\u2011": "-", "\u00ad": None})
_RAISABLE = set("0123456789+-−=() ")
_RAISED = str.maketrans("0123456789+-−=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾")
CHANGES = {kind.value: kind for kind in ChangeKind}


@dataclass(kw_only=True)
class WordFile:
    """The state that all stories of a document share. `note` returns the mark of a note or comment, and lists it."""

    package: Package
    styles: Styles
    numbering: Numbering
    pictures: Pictures
    changes: ChangeLog
    has_moves: bool
    note: Callable[[Element, str], str] = field(default=lambda element, label: "")
    anchors: dict[str, list[str]] = field(default_factory=dict)


class RunReader:
    """A reader of the runs of one part. It collects segments of text, and boxes and graphics that follow them."""

    def __init__(self, file: WordFile, path: str, root: Element) -> None:
        self._file = file
        self._path = path
        self._relationships: Mapping[str, Relationship] = file.package.relationships(path)
        self._odd_fields = fields.unmatched(root)
        self._open_fields: list[OpenField] = []
        self._open_ranges: dict[str, list[str]] = {}
        self._move = ""
        self._segments: list[Segment] = []
        self._attached: list[Element | list[str]] = []

    def _children(self, element: Element, marks: Marks) -> None:
        for child in element:
            name = local_name(child)
            if handler := _HANDLERS.get(name):
                handler(self, child, marks)
            elif name in _CHARACTERS:
                self._emit(_CHARACTERS[name], marks)
            elif name in CHANGES:
                self._children(child, replace(marks, change=self._change(child, CHANGES[name])))
            elif name not in SKIPPED:
                self._children(child, marks)

    def _emit(self, text: str, marks: Marks) -> None:
        if not text or any(not open_field.has_result for open_field in self._open_fields):
            return
        self._segments.append(Segment(text=text, marks=marks))
        for texts in self._open_ranges.values():
            texts.append(text)

    @contextmanager
    def _captured(self) -> Iterator[list[Segment]]:
        """Collect the segments of a part of the paragraph."""
        outer, self._segments = self._segments, []
        try:
            yield self._segments
        finally:
            self._segments = outer

    def _run(self, run: Element, marks: Marks) -> None:
        hidden, style = run_property(run, "vanish"), run_property(run, "rStyle")
        if hidden is not None:
            marks = replace(marks, is_hidden=is_on(hidden))
        elif style is not None and self._file.styles.is_hidden(attribute(style, "val")):
            marks = replace(marks, is_hidden=True)
        struck = [found for name in ("strike", "dstrike") if (found := run_property(run, name)) is not None]
        if any(map(is_on, struck)):
            marks = replace(marks, is_struck=True)
        self._children(run, marks)

    def _text(self, element: Element, marks: Marks) -> None:
        run = element.getparent()
        text = element.text or ""
        text = with_symbols(text, font_of(run), has_letters=len(text.strip()) > 2).translate(_SPACES)
        position = run_property(run, "vertAlign")
        if position is not None and attribute(position, "val") == "superscript" and set(text) <= _RAISABLE:
            text = text.translate(_RAISED)
        self._emit(text, marks)

    def _break(self, element: Element, marks: Marks) -> None:
        self._emit("\f" if attribute(element, "type") == "page" else "\n", marks)

    def _symbol(self, element: Element, marks: Marks) -> None:
        code = attribute(element, "char")
        self._emit(symbol(attribute(element, "font"), int(code, 16)) if code else "", marks)

    def _equation(self, element: Element, marks: Marks) -> None:
        self._emit(equation.linear(element).translate(_SPACES), marks)

    def _ruby(self, element: Element, marks: Marks) -> None:
        base, above = element.find("{*}rubyBase"), element.find("{*}rt")
        if base is not None:
            self._children(base, marks)
        self._emit("(", marks)
        if above is not None:
            self._children(above, marks)
        self._emit(")", marks)

    def _alternatives(self, element: Element, marks: Marks) -> None:
        """Read the first version that has content (ISO 29500-3, 7.6). All show the same."""
        for version in element:
            length = len(self._segments) + len(self._attached)
            self._children(version, marks)
            if len(self._segments) + len(self._attached) > length:
                return

    def _control(self, element: Element, marks: Marks) -> None:
        content = element.find("{*}sdtContent")
        control = control_of(element.find("{*}sdtPr"))
        with self._captured() as segments:
            if content is not None:
                self._children(content, marks)
        self._segments += controlled(control, segments) if control else segments

    def _move_range(self, element: Element, marks: Marks) -> None:
        self._move = attribute(element, "name")

    def _note(self, element: Element, marks: Marks) -> None:
        run = element.getparent()
        label = "".join(run.itertext("{*}t")) if attribute(element, "customMarkFollows") in ("1", "true", "on") else ""
        for following in run.iterchildren("{*}t") if label else ():
            following.text = ""
        # The note is read by another story, whose text must not go into this paragraph.
        self._emit(self._file.note(element, label), marks)

    def _range(self, element: Element, marks: Marks) -> None:
        """Collect the text that a comment is about."""
        key = attribute(element, "id")
        if local_name(element) == "commentRangeStart":
            self._open_ranges[key] = self._file.anchors.setdefault(key, [])
        else:
            self._open_ranges.pop(key, None)

    # Links and fields

    def _link(self, element: Element, marks: Marks) -> None:
        relationship = self._relationships.get(attribute(element, "id"))
        anchor = attribute(element, "anchor")
        target = relationship.target if relationship is not None else ""
        start = len(self._segments)
        self._children(element, marks)
        self._wrap(start, f"{target}#{anchor}" if target and anchor else target, marks)

    def _wrap(self, start: int, target: str, marks: Marks) -> None:
        """Make a link of the segments from `start` on, unless they are the address itself."""
        text = "".join(segment.text for segment in self._segments[start:]).strip()
        if not target or not text or text in (target, target.removeprefix("mailto:")):
            return
        if text.startswith("[picture ") and text.endswith("]"):
            self._segments.append(Segment(text=f"({target})", marks=marks))
            return
        self._segments.insert(start, Segment(text="[", marks=marks))
        self._segments.append(Segment(text=f"]({target})", marks=marks))

    def _simple_field(self, element: Element, marks: Marks) -> None:
        instruction, start = attribute(element, "instr"), len(self._segments)
        self._children(element, marks)
        if len(self._segments) == start:
            self._emit(fields.without_result(instruction), marks)
        self._wrap(start, fields.address(instruction), marks)

    def _field_mark(self, element: Element, marks: Marks) -> None:
        if element in self._odd_fields:
            return
        kind = attribute(element, "fldCharType")
        if kind == "begin":
            self._open_fields.append(OpenField(form=element.find("{*}ffData")))
        elif self._open_fields and kind == "separate":
            current = self._open_fields[-1]
            current.has_result, current.segments, current.start = True, self._segments, len(self._segments)
        elif self._open_fields and kind == "end":
            self._end_field(self._open_fields.pop(), marks)

    def _end_field(self, ended: OpenField, marks: Marks) -> None:
        target = fields.address(ended.instruction)
        state = fields.form_value(ended.form) if ended.form is not None else ""
        if state:
            del self._segments[
                ended.start if ended.has_result and ended.segments is self._segments else len(self._segments) :
            ]
            self._emit(state, marks)
        elif not ended.has_result:
            self._emit(fields.without_result(ended.instruction), marks)
        elif ended.segments is not self._segments:  # it began in another paragraph
            self._emit(f" ({target})" if target else "", marks)
        elif ended.form is not None and not "".join(part.text for part in self._segments[ended.start :]).strip():
            self._emit("[empty field]", marks)
        else:
            self._wrap(ended.start, target, marks)

    def _instruction(self, element: Element, marks: Marks) -> None:
        if self._open_fields:
            self._open_fields[-1].instruction += element.text or ""

    # Drawings and objects

    def _drawing(self, element: Element, marks: Marks) -> None:
        length = len(self._segments) + len(self._attached)
        start = len(self._segments)
        self._children(element, marks)
        properties = element.find(".//{*}docPr")
        if properties is None:
            return
        description = " ".join((properties.get("descr") or properties.get("title") or "").split())
        if len(self._segments) == start and description:
            kind = "text box" if len(self._attached) + len(self._segments) > length else "drawing"
            self._emit(f"[{kind}: {description}]", marks)
        click = properties.find("{*}hlinkClick")
        relationship = self._relationships.get(attribute(click, "id")) if click is not None else None
        self._wrap(start, relationship.target if relationship is not None else "", marks)

    def _picture(self, element: Element, marks: Marks) -> None:
        """Name a picture (DrawingML's a:blip)."""
        key = attribute(element, "embed") or attribute(element, "link")
        drawing = next(element.iterancestors("{*}drawing"), None)
        whole = drawing.find(".//{*}docPr") if drawing is not None else None
        own = next((found for found in element.iterancestors("{*}pic")), None)
        own = own.find("{*}nvPicPr/{*}cNvPr") if own is not None else None
        names = [one for one in (own, whole) if one is not None]
        description = next((text for one in names if (text := one.get("descr") or "")), "")
        extent = extent_of(drawing.find(".//{*}extent") if drawing is not None else None)
        line = self._file.pictures.line(
            self._relationships.get(key), name=own.get("name", "") if own is not None else "",
            description=description, extent=extent,
        )  # fmt: skip
        self._emit(line, marks)

    def _old_picture(self, element: Element, marks: Marks) -> None:
        """Name a picture of VML. That of an embedded object is only its icon."""
        if next(element.iterancestors("{*}object"), None) is not None:
            return
        shape = element.getparent()
        relationship = self._relationships.get(attribute(element, "id") or attribute(element, "href"))
        self._emit(self._file.pictures.line(relationship, description=shape.get("alt") or ""), marks)

    def _graphic(self, element: Element, marks: Marks) -> None:
        lines = graphic_lines(self._file.package, self._path, element)
        if lines is not None:
            self._attached.append(lines)
        else:
            self._children(element, marks)

    def _box(self, element: Element, marks: Marks) -> None:
        self._attached.append(element)

    def _art(self, element: Element, marks: Marks) -> None:
        text = " ".join((element.get("string") or "").split())
        self._emit(f"[text art: {text}]" if text else "", marks)

    def _embedded(self, element: Element, marks: Marks) -> None:
        relationship = self._relationships.get(attribute(element, "id"))
        self._emit(embedded_file(self._file.package, relationship, element.get("ProgID") or ""), marks)

    def _active_control(self, element: Element, marks: Marks) -> None:
        relationship = self._relationships.get(attribute(element, "id"))
        root = self._file.package.xml(relationship.target) if relationship is not None else None
        captions = [
            attribute(part, "value")
            for part in (root.iter("{*}ocxPr") if root is not None else ())
            if attribute(part, "name") in ("Caption", "Value")
        ]
        self._emit(f"[control {attribute(element, 'name')}: {', '.join(captions)}]".replace(": ]", "]"), marks)

    def _change(self, element: Element, kind: ChangeKind) -> Change:
        author, day = attribute(element, "author") or "an unknown author", attribute(element, "date")[:10]
        if kind in (ChangeKind.MOVED_FROM, ChangeKind.MOVED_TO):
            if self._file.has_moves:
                number = self._file.changes.move_number(self._move or f"{author} {attribute(element, 'date')}")
                return Change(kind=kind, author=author, day=day, move=number)
            kind = ChangeKind.DELETION if kind.is_removal else ChangeKind.INSERTION
        return Change(kind=kind, author=author, day=day)


_HANDLERS: dict[str, Callable[[RunReader, Element, Marks], None]] = {
    "r": RunReader._run,
    "t": RunReader._text,
    "delText": RunReader._text,
    "br": RunReader._break,
    "sym": RunReader._symbol,
    "oMath": RunReader._equation,
    "ruby": RunReader._ruby,
    "AlternateContent": RunReader._alternatives,
    "sdt": RunReader._control,
    "moveFromRangeStart": RunReader._move_range,
    "moveToRangeStart": RunReader._move_range,
    "footnoteReference": RunReader._note,
    "endnoteReference": RunReader._note,
    "commentReference": RunReader._note,
    "commentRangeStart": RunReader._range,
    "commentRangeEnd": RunReader._range,
    "hyperlink": RunReader._link,
    "fldSimple": RunReader._simple_field,
    "fldChar": RunReader._field_mark,
    "instrText": RunReader._instruction,
    "delInstrText": RunReader._instruction,
    "drawing": RunReader._drawing,
    "blip": RunReader._picture,
    "imagedata": RunReader._old_picture,
    "chart": RunReader._graphic,
    "relIds": RunReader._graphic,
    "txbxContent": RunReader._box,
    "textpath": RunReader._art,
    "OLEObject": RunReader._embedded,
    "control": RunReader._active_control,
}


def controlled(control: Control, segments: list[Segment]) -> list[Segment]:
    """Return the content of a content control, with its state, its choices, or the note that nothing was entered."""
    marks = segments[0].marks if segments else Marks()
    if control.state:
        return [Segment(text=control.state, marks=marks)]
    if control.is_empty:
        text = "".join(segment.text for segment in segments).strip()
        segments = [Segment(text=empty_field(control, text), marks=marks)]
    return [*segments, Segment(text=control.choices, marks=marks)] if control.choices else segments


def empty_field(control: Control, prompt: str) -> str:
    name = f" “{control.name}”" if control.name else ""
    return f"[empty field{name}: {prompt}]" if prompt else f"[empty field{name}]"

"""The shapes of a slide (ISO 29500-1, 19.3.1) in reading order: rows from the top, in a row from the left."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from posixpath import basename

from tools_app.documents.document import row
from tools_app.documents.office.graphics import graphic_lines
from tools_app.documents.office.package import Package, Pictures, embedded_file, extent_of
from tools_app.documents.opendocument import Element, attribute, local_name
from tools_app.documents.powerpoint.text import TextReader, linked

_SHAPES = ("sp", "pic", "graphicFrame", "grpSp", "cxnSp", "contentPart", "AlternateContent")
_TITLES = ("title", "ctrTitle")
_UNREAD = ("ftr", "dt", "hdr", "sldNum", "sldImg")
_MAX_CUT = 500  # shapes; more are sorted by their corners only
_SHRUNK = 0.1  # of a box at each side, so that boxes that touch are apart
_STACK_GAP = 100_000  # EMU, 2.8 mm
_BACKGROUND = 0.6  # of the area of all shapes


@dataclass(frozen=True, kw_only=True)
class _Block:
    """The lines of a shape, and its place on the slide."""

    lines: Sequence[str]
    left: float
    top: float
    right: float
    bottom: float

    @property
    def area(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)


class Shapes:
    """A reader of the shapes of one part. `parents` are its layout and its master."""

    def __init__(
        self, package: Package, path: str, pictures: Pictures, numbers: Mapping[str, int], parents: Sequence[Element]
    ) -> None:
        self._package, self._path, self._pictures, self._numbers = package, path, pictures, numbers
        self._relationships = package.relationships(path)
        self._parents = parents

    def lines(self, root: Element, *, with_placeholders: bool = True) -> Iterator[str]:
        """Yield the lines of all shapes of a slide or layout. The title comes first."""
        tree = root.find("{*}cSld/{*}spTree")
        if tree is None:
            return
        shapes = [shape for shape in tree if placeholder_kind(shape) not in _UNREAD]
        if not with_placeholders:
            shapes = [shape for shape in shapes if shape.find("./*/{*}nvPr/{*}ph") is None]
        titles = [shape for shape in shapes if placeholder_kind(shape) in _TITLES]
        for shape in titles:
            if text := " ".join(" ".join(self._shape(shape)).split()):
                yield f"# {text}"
        yield from self._in_order([shape for shape in shapes if shape not in titles])

    def repeated(self, root: Element, kinds: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield kind and text of the placeholders that repeat on all slides."""
        for shape in root.iterfind("{*}cSld/{*}spTree/{*}sp"):
            if (kind := placeholder_kind(shape)) in kinds and (text := " ".join(" ".join(self._shape(shape)).split())):
                yield kind, text

    def _in_order(self, shapes: Sequence[Element]) -> Iterator[str]:
        blocks = []
        for shape in shapes:
            if lines := [line for line in self._shape(shape) if line.strip()]:
                left, top, width, height = self._place(shape)
                blocks.append(_Block(lines=lines, left=left, top=top, right=left + width, bottom=top + height))
        for block in _ordered(_stacked(blocks)):
            yield from block.lines

    def _shape(self, shape: Element) -> Iterator[str]:
        """Yield the lines of a shape."""
        if (name := local_name(shape)) not in _SHAPES:
            return
        if name == "AlternateContent":
            yield from next(filter(None, (self._version(version) for version in shape)), [])
            return
        properties = shape.find("./*/{*}cNvPr")
        lines = list(self._content(shape, name, properties))
        click = properties.find("{*}hlinkClick") if properties is not None else None
        target = self._text_reader(shape).target(click)
        if target and len(lines) == 1:
            lines = [f"{lines[0]}({target})" if lines[0].startswith("[picture ") else linked(lines[0], target)]
        elif (
            target
            and lines
            and not (properties is not None and shape.find("./*/{*}nvPr/*") is not None and name == "pic")
        ):
            lines.append(f"({target})")
        if properties is not None and properties.get("hidden") in ("1", "true"):
            lines = [f"[hidden: {line}]" for line in lines if line.strip()]
        yield from lines

    def _version(self, version: Element) -> list[str]:
        return [line for shape in version for line in self._shape(shape)]

    def _content(self, shape: Element, name: str, properties: Element | None) -> Iterator[str]:
        if name == "grpSp":
            yield from self._in_order(list(shape))
        elif name == "pic":
            yield from self._picture(shape, properties)
        elif name == "graphicFrame":
            yield from self._frame(shape, properties)
        elif name == "contentPart":
            yield "[ink drawing]"
        else:
            if shape.find("{*}spPr/{*}blipFill") is not None:
                yield from self._picture(shape, properties)
            body = shape.find("{*}txBody")
            if body is not None:
                yield from self._text_reader(shape).lines(body)

    def _picture(self, shape: Element, properties: Element | None) -> Iterator[str]:
        """Name a picture, or the video or sound behind it."""
        name = properties.get("name", "") if properties is not None else ""
        description = (properties.get("descr", "") if properties is not None else "") or ""
        description = "" if description == name else description
        for kind, elements in (
            ("video", ("videoFile",)),
            ("sound", ("audioFile", "wavAudioFile", "audioCd")),
            ("media", ("media",)),
        ):
            media = next(shape.iter(*(f"{{*}}{element}" for element in elements)), None)
            if media is not None:
                key = attribute(media, "link") or attribute(media, "embed")
                relationship = self._relationships.get(key)
                target = relationship.target if relationship is not None else "missing"
                target = target if relationship is not None and relationship.is_external else basename(target)
                yield f"[{kind}: {', '.join(filter(None, [target, description]))}]"
                return
        blip = next(shape.iter("{*}blip"), None)
        key = (attribute(blip, "embed") or attribute(blip, "link")) if blip is not None else ""
        extent = extent_of(shape.find("{*}spPr/{*}xfrm/{*}ext"))
        yield self._pictures.line(self._relationships.get(key), name=name, description=description, extent=extent)

    def _frame(self, shape: Element, properties: Element | None) -> Iterator[str]:
        """Yield a table, a chart, a diagram or the name of an embedded file."""
        embedded = next(shape.iter("{*}oleObj"), None)
        if embedded is not None:
            relationship = self._relationships.get(attribute(embedded, "id"))
            yield embedded_file(self._package, relationship, embedded.get("progId", ""))
            return
        is_read = False
        for element in shape.iter("{*}tbl", "{*}chart", "{*}relIds"):
            lines = list(self._table(element)) if local_name(element) == "tbl" else None
            lines = graphic_lines(self._package, self._path, element) if lines is None else lines
            yield from lines or ()
            is_read = is_read or lines is not None
        if not is_read:
            name = properties.get("descr") or properties.get("name", "") if properties is not None else ""
            yield f"[object: {name}]"

    def _table(self, table: Element) -> Iterator[str]:
        reader = TextReader(self._relationships, self._numbers, [])
        for table_row in table.iterchildren("{*}tr"):
            cells = []
            for cell in table_row.iterchildren("{*}tc"):
                body = cell.find("{*}txBody")
                text = "\n".join(reader.lines(body)) if body is not None else ""
                if cell.get("hMerge") in ("1", "true"):
                    text = text.strip() or "←"
                elif cell.get("vMerge") in ("1", "true"):
                    text = text.strip() or "↑"
                cells.append(text)
            yield row(cells)

    def _text_reader(self, shape: Element) -> TextReader:
        return TextReader(self._relationships, self._numbers, list(self._list_styles(shape)))

    def _list_styles(self, shape: Element) -> Iterator[Element]:
        """Yield the list styles that a placeholder inherits from layout and master."""
        placeholder = shape.find("./*/{*}nvPr/{*}ph")
        if placeholder is None:
            return
        for parent in self._parents:
            found = _same_placeholder(parent, placeholder)
            style = found.find("{*}txBody/{*}lstStyle") if found is not None else None
            if style is not None:
                yield style
        kind = placeholder_kind(shape)
        name = "titleStyle" if kind in _TITLES else "otherStyle" if kind in _UNREAD else "bodyStyle"
        for parent in self._parents:
            yield from parent.iterfind(f"{{*}}txStyles/{{*}}{name}")

    def _place(self, shape: Element) -> tuple[float, float, float, float]:
        """Return left, top, width and height of a shape: its own, or those of its placeholder in layout or master."""
        if local_name(shape) == "AlternateContent":
            shape = next((inner for version in shape for inner in version), shape)
        placeholder = shape.find("./*/{*}nvPr/{*}ph")
        candidates = [shape]
        if placeholder is not None:
            candidates += [
                one for parent in self._parents if (one := _same_placeholder(parent, placeholder)) is not None
            ]
        for candidate in candidates:
            for path in ("{*}spPr/{*}xfrm", "{*}grpSpPr/{*}xfrm", "{*}xfrm"):
                transform = candidate.find(path)
                offset = transform.find("{*}off") if transform is not None else None
                extent = transform.find("{*}ext") if transform is not None else None
                if offset is not None and extent is not None:
                    values = (offset.get("x"), offset.get("y"), extent.get("cx"), extent.get("cy"))
                    return tuple(float(value or 0) for value in values)  # type: ignore[return-value]
        return 0, 0, 0, 0


def placeholder_kind(shape: Element) -> str:
    """Return the type of a placeholder, "obj" for one without, and "" for another shape."""
    placeholder = shape.find("./*/{*}nvPr/{*}ph")
    return placeholder.get("type", "obj") if placeholder is not None else ""


def body_lines(body: Element) -> Iterator[str]:
    """Yield the paragraphs of a text without links."""
    return TextReader({}, {}, []).lines(body)


def _same_placeholder(parent: Element, placeholder: Element) -> Element | None:
    """Return the placeholder of a layout or master that this one takes its place from (19.3.1.36)."""
    index, kind = placeholder.get("idx"), placeholder.get("type", "obj")
    shapes = {shape: shape.find("./*/{*}nvPr/{*}ph") for shape in parent.iterfind("{*}cSld/{*}spTree/*")}
    others = [(shape, other) for shape, other in shapes.items() if other is not None]
    by_index = (shape for shape, other in others if index is not None and other.get("idx") == index)
    kinds = {"ctrTitle": "title", "subTitle": "body", "obj": "body"}
    by_kind = (
        shape
        for shape, other in others
        if kinds.get(other.get("type", "obj"), other.get("type")) == kinds.get(kind, kind)
    )
    return next(chain(by_index, by_kind), None)


def _stacked(blocks: Sequence[_Block]) -> list[_Block]:
    """Return the blocks, with those directly below one another in one column joined: a head and its text."""
    stacks: list[_Block] = []
    for block in sorted(blocks, key=lambda block: block.top) if len(blocks) < _MAX_CUT else blocks:
        margin = (block.right - block.left) * _SHRUNK / 2
        for index, stack in enumerate(stacks):
            is_aligned = abs(stack.left - block.left) < margin and abs(stack.right - block.right) < margin
            if is_aligned and abs(block.top - stack.bottom) < _STACK_GAP:
                lines = [*stack.lines, *block.lines]
                stacks[index] = replace(stack, lines=lines, bottom=max(stack.bottom, block.bottom))
                break
        else:
            stacks.append(block)
    return stacks


def _ordered(blocks: Sequence[_Block]) -> list[_Block]:
    """Return the blocks in reading order: cut into rows, each row into columns, and so on."""
    if len(blocks) < 2:
        return list(blocks)
    if len(blocks) > _MAX_CUT:
        return sorted(blocks, key=lambda block: (block.top, block.left))
    total = (max(block.right for block in blocks) - min(block.left for block in blocks)) * (
        max(block.bottom for block in blocks) - min(block.top for block in blocks)
    )
    behind = [block for block in blocks if block.area > _BACKGROUND * total]
    if behind and len(behind) < len(blocks):
        return behind + _ordered([block for block in blocks if block not in behind])
    for begin, end in (("top", "bottom"), ("left", "right")):
        groups = _cut(blocks, begin, end)
        if len(groups) > 1:
            return [block for group in groups for block in _ordered(group)]
    return sorted(blocks, key=lambda block: (block.top, block.left))


def _cut(blocks: Sequence[_Block], begin: str, end: str) -> list[list[_Block]]:
    """Return the groups between which a straight line crosses no block."""
    groups: list[list[_Block]] = []
    reached = 0.0
    for block in sorted(blocks, key=lambda block: getattr(block, begin)):
        first, last = getattr(block, begin), getattr(block, end)
        margin = (last - first) * _SHRUNK
        if groups and first + margin < reached:
            groups[-1].append(block)
            reached = max(reached, last - margin)
        else:
            groups.append([block])
            reached = last - margin
    return groups

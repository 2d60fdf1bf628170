"""The PowerPoint reader (.pptx): the texts of each slide in reading order, its notes and comments."""

from collections.abc import Iterator

from tools_app.documents.child import unless_damaged
from tools_app.documents.document import DAMAGED, ParsedDocument, ParsedPart
from tools_app.documents.office.package import Package, Pictures
from tools_app.documents.opendocument import Element, attribute
from tools_app.documents.powerpoint.shapes import Shapes, body_lines, placeholder_kind
from tools_app.documents.powerpoint.text import TextReader

_REPEATED = ("ftr", "dt", "hdr")  # placeholders whose text is the same on most slides
_NOT_NOTES = (*_REPEATED, "sldImg", "sldNum")


def open_document(body: bytes) -> ParsedDocument:
    """Open a presentation.

    Raises: ValueError.
    """
    package = Package(body)
    reader = _SlideReader(package, package.main_part("ppt/presentation.xml"))
    return ParsedDocument(kind="PowerPoint presentation", unit="slide", title=package.title(), parts=reader.slides())


class _SlideReader:
    """The slides, and the texts that are shown once for all of them."""

    def __init__(self, package: Package, path: str) -> None:
        self._package, self._path = package, path
        self._pictures = Pictures(package)
        self._shown_once: set[str] = set()
        self._root = package.main_xml(path, "presentation")
        relationships = package.relationships(path)
        self._slides = [
            (slide.get("id", ""), relationships[attribute(slide, "id")].target)
            for slide in self._root.iterfind("{*}sldIdLst/{*}sldId")
            if attribute(slide, "id") in relationships
        ]
        if package.damaged_parts or not relationships:  # the list of slides can be a part of the damage
            listed = {target.lower() for _, target in self._slides}
            self._slides += [("", target) for target in package.numbered("ppt/slides/slide") if target not in listed]
        if not self._slides and (package.damaged_parts or self._root.find("{*}sldIdLst/{*}sldId") is not None):
            raise ValueError(path)
        self._numbers = {target: number for number, (_, target) in enumerate(self._slides, 1)}
        self._authors = dict(self._comment_authors())

    def slides(self) -> list[ParsedPart]:
        """Return the slides. All are read, because pictures are numbered and footers shown once through the deck."""
        sections = self._sections()
        parts = []
        for number, (key, path) in enumerate(self._slides, 1):
            root = self._package.xml(path)
            is_hidden = root is not None and root.get("show") in ("0", "false")  # ISO 29500-1, 19.3.1.38
            lines = [f"Section: {sections[key]}"] if key in sections else []
            lines += unless_damaged(self._lines(path, root))
            title = f"slide {number} of {len(self._slides)}{' (hidden)' if is_hidden else ''}"
            parts.append(ParsedPart(title=title, lines=lines))
        return parts

    def _sections(self) -> dict[str, str]:
        """Return the name of each section by the id of its first slide ([MS-PPTX] 2.6.4)."""
        sections: dict[str, str] = {}
        for section in self._root.iter("{*}section"):
            first = next(section.iter("{*}sldId"), None)
            if first is not None and section.get("name"):
                sections[first.get("id", "")] = section.get("name", "")
        return sections

    def _lines(self, path: str, root: Element | None) -> Iterator[str]:
        if root is None:
            yield DAMAGED
            return
        layout = next(self._package.related(path, "slideLayout"), "")
        master = next(self._package.related(layout, "slideMaster"), "") if layout else ""
        shapes = self._shapes(path, layout, master)
        yield from shapes.lines(root)
        if path in self._package.damaged_parts:
            yield DAMAGED
        yield from self._footers(shapes, root, "")
        yield from self._layout_lines(root, layout, master)
        for target in self._package.related(path, "notesSlide"):
            if (notes := self._package.xml(target)) is not None:
                if text := "\n".join(self._notes(target, notes)):
                    yield f"Notes: {text}"
                yield from self._footers(self._shapes(target), notes, " of the notes")
        for target in self._package.related(path, "comments"):
            comments = self._package.xml(target)
            yield from self._comments(comments) if comments is not None else ()

    def _shapes(self, path: str, layout: str = "", master: str = "") -> Shapes:
        parents = [root for parent in (layout, master) if parent and (root := self._package.xml(parent)) is not None]
        return Shapes(self._package, path, self._pictures, self._numbers, parents)

    def _layout_lines(self, root: Element, layout: str, master: str) -> Iterator[str]:
        """Yield the texts of layout and master that are no placeholders, once for the deck."""
        for path, behind in ((layout, root), (master, self._package.xml(layout) if layout else None)):
            if (
                not path
                or path in self._shown_once
                or (behind is not None and behind.get("showMasterSp") in ("0", "false"))
            ):
                continue
            self._shown_once.add(path)
            parent = self._package.xml(path)
            if parent is not None:
                yield from (f"Layout: {line}" for line in self._shapes(path).lines(parent, with_placeholders=False))

    def _footers(self, shapes: Shapes, root: Element, place: str) -> Iterator[str]:
        """Yield the headers and footers that no slide before has."""
        for kind, text in shapes.repeated(root, _REPEATED):
            if text not in self._shown_once:
                self._shown_once.add(text)
                yield f"{'Header' if kind == 'hdr' else 'Footer'}{place}: {text}"

    def _notes(self, path: str, root: Element) -> Iterator[str]:
        reader = TextReader(self._package.relationships(path), self._numbers, [])
        for shape in root.iter("{*}sp"):
            body = shape.find("{*}txBody")
            if placeholder_kind(shape) not in _NOT_NOTES and body is not None:
                yield from filter(str.strip, reader.lines(body))

    def _comment_authors(self) -> Iterator[tuple[str, str]]:
        for kind in ("commentAuthors", "authors"):
            for path in self._package.related(self._path, kind):
                root = self._package.xml(path)
                for author in root.iter("{*}cmAuthor", "{*}author") if root is not None else ():
                    yield author.get("id", ""), author.get("name", "")

    def _comments(self, root: Element) -> Iterator[str]:
        """Yield comments of both forms: ISO 29500-1, 19.4, and [MS-PPTX] 2.5 with replies."""
        for comment in root.iter("{*}cm"):
            is_reply = comment.find(".//{*}threadingInfo/{*}parentCm") is not None
            yield self._comment(comment, "Reply" if is_reply else "Comment")
            for reply in comment.iterfind("{*}replyLst/{*}reply"):
                yield self._comment(reply, "Reply")

    def _comment(self, comment: Element, name: str) -> str:
        author = self._authors.get(comment.get("authorId", ""), "unknown author")
        day = (comment.get("created") or comment.get("dt") or "")[:10]
        state = comment.get("status", "")
        details = ", ".join(filter(None, [author, day, state if state in ("resolved", "closed") else ""]))
        body = comment.find("{*}txBody")
        text = comment.findtext("{*}text") or ("\n".join(body_lines(body)) if body is not None else "")
        return f"{name} by {details}: {text.strip()}"

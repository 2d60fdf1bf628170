"""The OpenDocument reader: texts (.odt) by page, spreadsheets (.ods) by sheet, presentations (.odp) by slide.

A page ends where the program that wrote the text has marked it (OpenDocument 1.3 part 3, 5.6, text:soft-page-break). A
text without such marks is one page. Entities, external documents, comments and processing instructions are never read.
"""

import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from lxml import etree

from tools_app.documents.document import Document, Part, Unreadable, pages_of, row

Element = Any  # lxml has no types


def parse(data: bytes) -> Element:
    """Parse XML safely. The parser itself refuses a depth over 256 and texts over 10 MB.

    Raises: etree.XMLSyntaxError.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    root = etree.fromstring(data, parser)
    etree.strip_elements(root, etree.Entity, with_tail=False)  # the remains of references
    return root


def part(archive: zipfile.ZipFile, name: str) -> Element | None:
    """Return the XML of an entry of the archive, or None."""
    return parse(archive.read(name)) if name in archive.namelist() else None


def local(element: Element) -> str:
    """Return the name without its namespace."""
    name: str = etree.QName(element).localname
    return name


def attribute(element: Element, name: str) -> str:
    """Return the value of an attribute in any namespace, or ""."""
    values: Iterator[str] = (value for key, value in element.attrib.items() if key.endswith(f"}}{name}"))
    return next(values, "")


_MOST_REPEATED = 1_000  # repetitions of one row or cell: formats often repeat an empty one to the end of the sheet
_BLOCKS = {"p", "h"}
_SPACES = {"tab": "\t", "line-break": "\n"}
_BREAK = "\f"


def open_document(body: bytes) -> Document:
    """Open an OpenDocument file.

    Raises: Unreadable.
    """
    archive = ZipFile(BytesIO(body))
    manifest = part(archive, "META-INF/manifest.xml")
    if manifest is not None and manifest.find(".//{*}encryption-data") is not None:  # part 2, 4.8
        raise Unreadable("It is encrypted and needs a password.")
    content, meta = part(archive, "content.xml"), part(archive, "meta.xml")
    found = content.find("{*}body") if content is not None else None
    if found is None or not len(found):
        raise Unreadable("It is damaged: it has no content.")
    title = (meta.findtext(".//{http://purl.org/dc/elements/1.1/}title") or "") if meta is not None else ""
    inner = found[0]
    if (kind := local(inner)) == "spreadsheet":
        sheets = [
            Part(title=f"sheet {attribute(each, 'name')}", lines=_sheet(each))
            for each in inner.iterchildren("{*}table")
        ]
        return Document(kind="OpenDocument spreadsheet", unit="sheet", title=title, parts=sheets)
    if kind == "presentation":
        slides = [_blocks(each) for each in inner.iterchildren("{*}page")]
        return Document(kind="OpenDocument presentation", unit="slide", title=title, parts=pages_of(slides, "slide"))
    pages = _pages([*_margins(part(archive, "styles.xml")), *_blocks(inner)])
    return Document(kind="OpenDocument text", unit="page", title=title, parts=pages_of(pages, "page"))


def _pages(lines: list[str]) -> list[list[str]]:
    pages: list[list[str]] = [[]]
    for line in lines:
        before, *others = line.split(_BREAK)
        pages[-1].append(before)
        pages += [[words] for words in others]
    return pages


def _blocks(element: Element) -> Iterator[str]:
    """Yield headings, paragraphs, list items and rows. Notes and comments follow their paragraph."""
    for child in element:
        name = local(child)
        if name == "h":
            level = attribute(child, "outline-level") or 1
            yield f"{'#' * min(int(level), 6)} {_words(child)}"
            yield ""
        elif name == "p":
            yield f"{'- ' if local(element) == 'list-item' else ''}{_words(child)}"
            yield from ([] if local(element) == "list-item" else [""])
            yield from _notes(child)
        elif name == "table":
            yield from (row(_cells(each)) for each in child.iter("{*}table-row"))
            yield ""
        elif name == "soft-page-break":
            yield _BREAK
        elif name == "notes":  # of a slide
            yield from (f"Notes: {line}" for line in _blocks(child) if line)
        elif name not in ("tracked-changes", "forms", "sequence-decls"):
            yield from _blocks(child)


def _words(element: Element) -> str:
    said = [element.text or ""]
    for child in element:
        name = local(child)
        if name == "s":
            said.append(" " * min(int(attribute(child, "c") or 1), _MOST_REPEATED))
        elif name == "soft-page-break":
            said.append(_BREAK)
        elif name == "note":
            said.append(f"[^{''.join(child.itertext('{*}note-citation'))}]")
        elif name == "desc":
            said.append(f"[picture: {_words(child)}]")
        elif name not in ("annotation", "title"):
            said.append(_SPACES.get(name, "") + _words(child))
        said.append(child.tail or "")
    return "".join(said)


def _notes(paragraph: Element) -> Iterator[str]:
    for note in paragraph.iter("{*}note"):
        words = " ".join(_words(each) for body in note.iterchildren("{*}note-body") for each in body)
        yield f"[^{''.join(note.itertext('{*}note-citation'))}]: {words}"
    for comment in paragraph.iter("{*}annotation"):
        words = " ".join(_words(each) for each in comment if local(each) in _BLOCKS)
        yield f"[comment: {words}]"


def _margins(styles: Element | None) -> Iterator[str]:
    """Yield the distinct headers and footers of the master pages."""
    found = styles.iter("{*}header", "{*}footer", "{*}header-first", "{*}footer-first") if styles is not None else ()
    words = ((local(each)[:6].capitalize(), " ".join(" ".join(each.itertext()).split())) for each in found)
    yield from dict.fromkeys(f"{kind}: {said}" for kind, said in words if said)


def _sheet(table: Element) -> Iterator[str]:
    number = 0
    for each in table.iter("{*}table-row"):
        cells = _cells(each)
        repeated = int(attribute(each, "number-rows-repeated") or 1)
        for position in range(1, min(repeated, _MOST_REPEATED) + 1) if cells else ():
            yield row([str(number + position), *cells])
        number += repeated
    for comment in table.iter("{*}annotation"):
        yield f"Comment: {' '.join(_words(block) for block in comment if local(block) in _BLOCKS)}"


def _cells(table_row: Element) -> list[str]:
    cells: list[str] = []
    for cell in table_row.iterchildren("{*}table-cell", "{*}covered-table-cell"):
        words = " ".join(_words(block) for block in cell if local(block) in _BLOCKS)
        cells += [words.strip()] * min(int(attribute(cell, "number-columns-repeated") or 1), _MOST_REPEATED)
    while cells and not cells[-1]:
        cells.pop()
    return cells

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

from tools_app.documents.document import DocumentParseError, ParsedDocument, pages_of, row

Element = Any  # lxml has no types


def parse(data: bytes) -> Element:
    """Parse XML safely. The parser itself refuses a depth over 256 and texts over 10 MB.

    Raises: etree.XMLSyntaxError.
    """
    root = etree.fromstring(data, _parser())
    etree.strip_elements(root, etree.Entity, with_tail=False)  # the remains of references
    return root


def parse_damaged(data: bytes) -> Element | None:
    """Return the content before the damage, or None."""
    root = etree.fromstring(data, _parser(recover=True))
    if root is not None:
        etree.strip_elements(root, etree.Entity, with_tail=False)
    return root


def _parser(*, recover: bool = False) -> Any:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
        recover=recover,
    )


def part(archive: zipfile.ZipFile, name: str) -> Element | None:
    """Return the XML of an entry of the archive, or None."""
    return parse(archive.read(name)) if name in archive.namelist() else None


def local_name(element: Element) -> str:
    """Return the name without its namespace."""
    name: str = etree.QName(element).localname
    return name


def attribute(element: Element, name: str) -> str:
    """Return the value of an attribute in any namespace, or ""."""
    values: Iterator[str] = (value for key, value in element.attrib.items() if key.endswith(f"}}{name}"))
    return next(values, "")


_MAX_REPEATED = 1_000  # repetitions of one row or cell: formats often repeat an empty one to the end of the sheet
_TEXT_BLOCKS = {"p", "h"}
_SPACES = {"tab": "\t", "line-break": "\n"}
_PAGE_BREAK = "\f"


def open_document(body: bytes) -> ParsedDocument:
    """Open an OpenDocument file.

    Raises: DocumentParseError.
    """
    archive = ZipFile(BytesIO(body))
    manifest = part(archive, "META-INF/manifest.xml")
    if manifest is not None and manifest.find(".//{*}encryption-data") is not None:  # part 2, 4.8
        raise DocumentParseError("It is encrypted and needs a password.")
    content, meta = part(archive, "content.xml"), part(archive, "meta.xml")
    body_element = content.find("{*}body") if content is not None else None
    if body_element is None or not len(body_element):
        raise DocumentParseError("It is damaged: it has no content.")
    title = (meta.findtext(".//{http://purl.org/dc/elements/1.1/}title") or "") if meta is not None else ""
    inner = body_element[0]
    if (kind := local_name(inner)) == "spreadsheet":
        from tools_app.documents.open_sheet import sheet_parts  # it imports this module

        sheets = sheet_parts(content, inner)
        return ParsedDocument(kind="OpenDocument spreadsheet", unit="sheet", title=title, parts=sheets)
    if kind == "presentation":
        slides = [_blocks(slide) for slide in inner.iterchildren("{*}page")]
        return ParsedDocument(
            kind="OpenDocument presentation", unit="slide", title=title, parts=pages_of(slides, "slide")
        )
    pages: list[list[str]] = [[]]
    for line in (*_headers_and_footers(part(archive, "styles.xml")), *_blocks(inner)):
        before, *others = line.split(_PAGE_BREAK)
        pages[-1].append(before)
        pages += [[text] for text in others]
    return ParsedDocument(kind="OpenDocument text", unit="page", title=title, parts=pages_of(pages, "page"))


def _blocks(element: Element) -> Iterator[str]:
    """Yield headings, paragraphs, list items and rows. Notes and comments follow their paragraph."""
    for child in element:
        name = local_name(child)
        if name == "h":
            level = attribute(child, "outline-level") or 1
            yield f"{'#' * min(int(level), 6)} {_text(child)}"
            yield ""
        elif name == "p":
            yield f"{'- ' if local_name(element) == 'list-item' else ''}{_text(child)}"
            yield from ([] if local_name(element) == "list-item" else [""])
            yield from _notes(child)
        elif name == "table":
            yield from (row(_cells(table_row)) for table_row in child.iter("{*}table-row"))
            yield ""
        elif name == "soft-page-break":
            yield _PAGE_BREAK
        elif name == "notes":  # of a slide
            yield from (f"Notes: {line}" for line in _blocks(child) if line)
        elif name not in ("tracked-changes", "forms", "sequence-decls"):
            yield from _blocks(child)


def _text(element: Element) -> str:
    texts = [element.text or ""]
    for child in element:
        name = local_name(child)
        if name == "s":
            texts.append(" " * min(int(attribute(child, "c") or 1), _MAX_REPEATED))
        elif name == "soft-page-break":
            texts.append(_PAGE_BREAK)
        elif name == "note":
            texts.append(f"[^{''.join(child.itertext('{*}note-citation'))}]")
        elif name == "desc":
            texts.append(f"[picture: {_text(child)}]")
        elif name not in ("annotation", "title"):
            texts.append(_SPACES.get(name, "") + _text(child))
        texts.append(child.tail or "")
    return "".join(texts)


def _notes(paragraph: Element) -> Iterator[str]:
    for note in paragraph.iter("{*}note"):
        text = " ".join(_text(block) for body in note.iterchildren("{*}note-body") for block in body)
        yield f"[^{''.join(note.itertext('{*}note-citation'))}]: {text}"
    for comment in paragraph.iter("{*}annotation"):
        text = " ".join(_text(block) for block in comment if local_name(block) in _TEXT_BLOCKS)
        yield f"[comment: {text}]"


def _headers_and_footers(styles: Element | None) -> Iterator[str]:
    """Yield the distinct headers and footers of the master pages."""
    if styles is None:
        return
    lines: dict[str, None] = {}
    for element in styles.iter("{*}header", "{*}footer", "{*}header-first", "{*}footer-first"):
        if text := " ".join(" ".join(element.itertext()).split()):
            lines[f"{local_name(element)[:6].capitalize()}: {text}"] = None
    yield from lines


def _cells(table_row: Element) -> list[str]:
    cells: list[str] = []
    for cell in table_row.iterchildren("{*}table-cell", "{*}covered-table-cell"):
        text = " ".join(_text(block) for block in cell if local_name(block) in _TEXT_BLOCKS)
        cells += [text.strip()] * min(int(attribute(cell, "number-columns-repeated") or 1), _MAX_REPEATED)
    while cells and not cells[-1]:
        cells.pop()
    return cells

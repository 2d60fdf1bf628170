"""The EPUB reader: the documents of the spine, in order, as chapters (EPUB 3.3, 4 and 5)."""

from collections.abc import Iterator
from io import BytesIO
from posixpath import dirname, join, normpath
from urllib.parse import unquote
from zipfile import ZipFile

from lxml import etree

from tools_app.documents import html, opendocument
from tools_app.documents.document import DocumentParseError, ParsedDocument, ParsedPart
from tools_app.files.encoding import decode_text


def open_document(body: bytes) -> ParsedDocument:
    """Open an EPUB book.

    Raises: DocumentParseError.
    """
    archive = ZipFile(BytesIO(body))
    container = opendocument.part(archive, "META-INF/container.xml")
    root = container.find(".//{*}rootfile") if container is not None else None
    path = root.get("full-path", "") if root is not None else ""
    package = opendocument.part(archive, path)
    if package is None:
        raise DocumentParseError("It is damaged: it does not say what it holds.")
    hrefs = {item.get("id"): unquote(item.get("href", "")) for item in package.iterfind(".//{*}manifest/{*}item")}
    spine = (item.get("idref") for item in package.iterfind(".//{*}spine/{*}itemref"))
    chapters = [normpath(join(dirname(path), hrefs[item_id])) for item_id in spine if item_id in hrefs]
    if _encrypted(archive) & set(chapters):
        raise DocumentParseError("It is encrypted (DRM).")
    parts = [
        ParsedPart(title=f"chapter {number} of {len(chapters)}", lines=_lines(archive, chapter))
        for number, chapter in enumerate(chapters, 1)
    ]
    title = "".join(package.xpath("string(.//*[local-name()='title'])"))
    return ParsedDocument(kind="EPUB book", unit="chapter", title=title, parts=parts)


def _encrypted(archive: ZipFile) -> set[str]:
    """Return the paths in META-INF/encryption.xml. Readable books can have fonts there, too (4.2.6.3.2)."""
    encryption = opendocument.part(archive, "META-INF/encryption.xml")
    references = encryption.iter("{*}CipherReference") if encryption is not None else ()
    return {unquote(reference.get("URI", "")) for reference in references}


def _lines(archive: ZipFile, name: str) -> Iterator[str]:
    if name not in archive.namelist():
        yield "[This chapter is missing.]"
        return
    try:
        yield html.outline(html.parsed(decode_text(archive.read(name)))[1])
    except etree.ParserError:  # an empty chapter
        return

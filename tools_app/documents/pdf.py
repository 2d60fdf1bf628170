"""The PDF reader: the text, notes, links and form values of each page, the contents, and embedded files."""

import re
from collections.abc import Iterator
from ctypes import c_ulong, create_string_buffer
from itertools import pairwise

from lxml import etree
from pypdfium2 import PdfDocument, PdfiumError, PdfPage, PdfTextPage, raw  # type: ignore[import-untyped]

from tools_app.documents.attached_file import MOST, parts_of, titled
from tools_app.documents.document import NO_TEXT, DocumentParseError, ParsedDocument, pages_of

_MOST_CONTENTS = 60  # entries of the contents that are shown
_MOST_PICTURE = 0.5  # of a page's area; over it, few words are not all that the page shows
_FEW_WORDS = 200  # characters
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
# A word cut at a line's end: the library writes U+FFFE in place of a hyphen and the line end, but not for all words.
_CUT_WORD = re.compile(r"(?<=\w)(?:[-\xad\u2010]\r?\n|\ufffe)(?=\w)")
_LAST_WORD, _FIRST_WORD = re.compile(r"[\w-]{1,40}\Z"), re.compile(r"\w{1,40}")
_KEEP_AFTER = ("self", "well", "non", "ex", "half", "quasi")  # before a hyphen that stays
_KEEP_BEFORE = ("und", "oder", "bzw", "and", "or", "et", "ou", "y", "o", "e", "en", "of")  # "Vor- und Nachteile"


def open_document(body: bytes) -> ParsedDocument:
    """Open a PDF.

    Raises: DocumentParseError.
    """
    pdf = opened(body)
    parts = pages_of([_lines(pdf, index) for index in range(len(pdf))], "page")
    for number in range(min(pdf.count_attachments(), MOST)):
        attachment = pdf.get_attachment(number)
        name = attachment.get_name()
        parts += titled(f"embedded file {name}", parts_of(bytes(attachment.get_data()), name))
    return ParsedDocument(kind="PDF", unit="page", title=pdf.get_metadata_value("Title"), parts=parts)


def opened(body: bytes) -> PdfDocument:
    """Return the parsed file.

    Raises: DocumentParseError.
    """
    try:
        return PdfDocument(body)
    except PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise DocumentParseError("It is encrypted and needs a password.") from error
        raise DocumentParseError("It is damaged, or no PDF that can be read here.") from error


def _lines(pdf: PdfDocument, index: int) -> Iterator[str]:
    page = pdf[index]
    text_page = page.get_textpage()
    text = whole_words(text_page.get_text_range())
    if not index:
        yield from [*_contents(pdf), ""]
    yield text
    notes = [*_notes(page, text, text_page), *(_xfa_values(pdf) if not index else ())]
    yield from ["", *notes]
    if not text.strip() and not notes:
        yield NO_TEXT
    elif len(text.strip()) < _FEW_WORDS and _picture_share(page) > _MOST_PICTURE:
        yield "[Most of this page is a picture, such as a scan. Look at it as a picture (view: picture).]"


def whole_words(text: str) -> str:
    """Return the text with words in one piece that the end of a line cuts, and without ligatures."""
    text = text.translate(_LIGATURES)
    pieces = _CUT_WORD.split(text)
    joined = [pieces[0]]
    for before, piece in pairwise(pieces):
        joined += [_joint(before, piece, text), piece]
    return "".join(joined)


def _joint(before: str, after: str, text: str) -> str:
    """Return the text that belongs between the halves of a cut word: nothing, a hyphen, or a hyphen and a space."""
    last, first = _LAST_WORD.search(before[-40:]), _FIRST_WORD.match(after)
    left, right = last[0] if last else "", first[0] if first else ""
    if right.lower() in _KEEP_BEFORE and left[:1].isupper():
        return "- "
    is_compound = "-" in left or left.lower() in _KEEP_AFTER or f"{left}-{right}" in text
    return "-" if is_compound or not right[:1].islower() or left[-1:].isdigit() else ""


def _contents(pdf: PdfDocument) -> Iterator[str]:
    """Yield the entries of the outline with their pages."""
    lines = []
    for entry in pdf.get_toc():
        destination = entry.get_dest()
        index = destination.get_index() if destination else None
        page = "" if index is None else f" (page {index + 1})"
        lines.append(f"{'  ' * entry.level}- {entry.get_title()}{page}")
    if lines:
        yield from ["Contents:", *lines[:_MOST_CONTENTS]]
    if len(lines) > _MOST_CONTENTS:
        yield f"[{len(lines) - _MOST_CONTENTS} more entries]"


def _picture_share(page: PdfPage) -> float:
    width, height = page.get_size()
    area = 0.0
    for picture in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]):
        left, bottom, right, top = picture.get_bounds()
        area += abs((right - left) * (top - bottom))
    return float(area / max(width * height, 1))


def _notes(page: PdfPage, text: str, text_page: PdfTextPage) -> Iterator[str]:
    """Yield texts of annotations, values of form fields, and targets of links (ISO 32000-1, 12.5 to 12.7)."""
    links = dict[str, str]()
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        if kind == raw.FPDF_ANNOT_WIDGET:
            name, value = _string(annotation, b"T"), _string(annotation, b"V")
            if value:
                yield f"Field {name}: {value}"
        elif kind == raw.FPDF_ANNOT_LINK:
            if (address := _address(page, annotation)) and address not in text:
                links.setdefault(address, _linked_text(annotation, text_page))
        elif content := _string(annotation, b"Contents"):
            author = _string(annotation, b"T")
            yield f"Note by {author}: {content}" if author else f"Note: {content}"
        raw.FPDFPage_CloseAnnot(annotation)
    yield from (f"Link: [{label}]({address})" if label else f"Link: {address}" for address, label in links.items())


def _address(page: PdfPage, annotation: object) -> str:
    """Return the address that a link leads to, or "" for a place in the document."""
    action = raw.FPDFLink_GetAction(raw.FPDFAnnot_GetLink(annotation))
    size = raw.FPDFAction_GetURIPath(page.pdf, action, None, 0) if action else 0
    buffer = create_string_buffer(size + 1)
    if size:
        raw.FPDFAction_GetURIPath(page.pdf, action, buffer, size)
    return buffer.value.decode(errors="replace")


def _linked_text(annotation: object, text_page: PdfTextPage) -> str:
    box = raw.FS_RECTF()
    if not raw.FPDFAnnot_GetRect(annotation, box):
        return ""
    return " ".join(text_page.get_text_bounded(box.left, box.bottom, box.right, box.top).split())


def _xfa_values(pdf: PdfDocument) -> Iterator[str]:
    """Yield the values of an XFA form: the leaves of its data (XFA 3.3, "datasets")."""
    for index in range(raw.FPDF_GetXFAPacketCount(pdf)):
        size = c_ulong()
        raw.FPDF_GetXFAPacketContent(pdf, index, None, 0, size)
        buffer = create_string_buffer(size.value + 1)
        raw.FPDF_GetXFAPacketContent(pdf, index, buffer, size.value, size)
        parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
        tree = etree.fromstring(buffer.value, parser) if buffer.value else None
        for leaf in () if tree is None else tree.xpath("//*[local-name()='data']//*[not(*)]"):
            if value := (leaf.text or "").strip():
                yield f"Field {etree.QName(leaf).localname}: {value}"


def _string(annotation: object, key: bytes) -> str:
    size = raw.FPDFAnnot_GetStringValue(annotation, key, None, 0)  # bytes of UTF-16LE, including a NUL
    buffer = (raw.FPDF_WCHAR * (size // 2))()
    raw.FPDFAnnot_GetStringValue(annotation, key, buffer, size)
    return bytes(buffer).decode("utf-16-le", errors="replace").rstrip("\0")

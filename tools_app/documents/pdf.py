"""The PDF reader: the text, notes and form values of each page."""

import base64
from collections.abc import Iterator, Mapping
from io import BytesIO

from pypdfium2 import PdfDocument, PdfiumError, PdfPage, raw  # type: ignore[import-untyped]

from tools_app.documents.document import NO_TEXT, DocumentParseError, ParsedDocument, pages_of

_LONGER_EDGE = (
    1568  # pixels of the longer edge: larger pictures are scaled down before a model sees them (llm_app/pictures.py)
)


def open_document(body: bytes) -> ParsedDocument:
    """Open a PDF.

    Raises: DocumentParseError.
    """
    pdf = _opened(body)
    pages = [_lines(pdf, index) for index in range(len(pdf))]
    return ParsedDocument(kind="PDF", unit="page", title=pdf.get_metadata_value("Title"), parts=pages_of(pages, "page"))


def answer(request: Mapping[str, int], body: bytes) -> dict[str, str]:
    """Return a page, counted from 1, as a base64 PNG, or an error as a sentence. It runs in a child process.

    {"page"} → {"picture"} or {"error"}
    """
    try:
        return {"picture": base64.b64encode(_page_png(body, request["page"])).decode()}
    except DocumentParseError as error:
        return {"error": str(error)}


def _page_png(body: bytes, number: int) -> bytes:
    pdf = _opened(body)
    if number > len(pdf):
        raise DocumentParseError(f"There is no page {number}: it has {len(pdf)}.")
    pdf.init_forms()  # otherwise the values of fields are not drawn
    page = pdf[number - 1]
    image = page.render(scale=_LONGER_EDGE / max(*page.get_size(), 1)).to_pil()
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _opened(body: bytes) -> PdfDocument:
    try:
        return PdfDocument(body)
    except PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise DocumentParseError("It is encrypted and needs a password.") from error
        raise DocumentParseError("It is damaged, or no PDF that can be read here.") from error


def _lines(pdf: PdfDocument, index: int) -> Iterator[str]:
    page = pdf[index]
    text = page.get_textpage().get_text_range()
    yield text
    notes = list(_notes(page))
    yield from ["", *notes]
    if not text.strip() and not notes:
        yield NO_TEXT


def _notes(page: PdfPage) -> Iterator[str]:
    """Yield the texts of annotations and the values of form fields (ISO 32000-1, 12.5 and 12.7)."""
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET:
            name, value = _string(annotation, b"T"), _string(annotation, b"V")
            if value:
                yield f"Field {name}: {value}"
        elif text := _string(annotation, b"Contents"):
            yield f"Note: {text}"
        raw.FPDFPage_CloseAnnot(annotation)


def _string(annotation: object, key: bytes) -> str:
    size = raw.FPDFAnnot_GetStringValue(annotation, key, None, 0)  # bytes of UTF-16LE, including a NUL
    buffer = (raw.FPDF_WCHAR * (size // 2))()
    raw.FPDFAnnot_GetStringValue(annotation, key, buffer, size)
    return bytes(buffer).decode("utf-16-le", errors="replace").rstrip("\0")

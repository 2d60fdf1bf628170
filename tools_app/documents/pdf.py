"""The PDF reader: the text, notes and form values of each page."""

from collections.abc import Iterator

from pypdfium2 import PdfDocument, PdfiumError, PdfPage, raw  # type: ignore[import-untyped]

from tools_app.documents.document import NO_TEXT, DocumentParseError, ParsedDocument, pages_of


def open_document(body: bytes) -> ParsedDocument:
    """Open a PDF.

    Raises: DocumentParseError.
    """
    pdf = opened(body)
    pages = [_lines(pdf, index) for index in range(len(pdf))]
    return ParsedDocument(kind="PDF", unit="page", title=pdf.get_metadata_value("Title"), parts=pages_of(pages, "page"))


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

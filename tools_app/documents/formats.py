"""Detection of a document's format, by signature, or for text formats by file extension."""

import re
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import PurePosixPath

from tools_app.documents.document import DocumentParseError, ParsedDocument
from tools_app.files.encoding import detect_encoding

_PDF_HEAD = 1024  # bytes; PDF readers accept other bytes before the signature
# [MS-CFB] 2.2: Office 97–2003, and encrypted Office files ([MS-OFFCRYPTO] 2.3)
_CFB = bytes.fromhex("d0cf11e0a1b11ae1")
_RTF = b"{\\rtf"
_MAX_UNPACKED = 500 * 1000**2  # bytes; a larger archive is a bomb
# an entry over so many bytes that is compressed to less than a 200th is a bomb, too
_LARGE_ENTRY, _MAX_RATIO = 10 * 1000**2, 200
_OLD_OFFICE_FILE = "It is a file of before 2007 that cannot be read here. Save it as .docx, .xlsx or .pptx."


@dataclass(frozen=True, kw_only=True)
class Format:
    """A document format and the `module` that reads it, imported on demand because it can need a library."""

    kind: str
    module: str


_CONTENT_TYPES = "[Content_Types].xml"
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")  # ESC starts shifts of some charsets
_PDF = Format(kind="PDF", module="pdf")
_BY_ENTRY = {  # ISO 29500-2: the parts of an Office file are in a folder named after the application
    "word/": Format(kind="Word document", module="word.reader"),
    "xl/workbook.bin": Format(kind="Excel workbook", module="binary_spreadsheet"),
    "xl/": Format(kind="Excel workbook", module="spreadsheet"),
    "ppt/": Format(kind="PowerPoint presentation", module="powerpoint.reader"),
}
_BY_MAIN_TYPE = {  # a file whose parts are in other folders
    b"wordprocessingml": _BY_ENTRY["word/"],
    b"spreadsheetml.sheet.main": _BY_ENTRY["xl/"],
    b"presentationml": _BY_ENTRY["ppt/"],
}
_BY_STREAM = {  # of a compound file
    "Workbook": Format(kind="Excel workbook", module="old_spreadsheet"),
    "Book": Format(kind="Excel workbook", module="old_spreadsheet"),
    "WordDocument": Format(kind="Word document", module="old_word"),
    "PowerPoint Document": Format(kind="PowerPoint presentation", module="old_powerpoint"),
    "__properties_version1.0": Format(kind="Outlook message", module="outlook"),
}
_RICH_TEXT = Format(kind="rich text", module="rich_text")
_BY_MIMETYPE = {  # OpenDocument 1.3 part 2, 3.3 and EPUB 3.3, 4.2.6.2: the first entry, `mimetype`, is the type
    b"application/vnd.oasis.opendocument.": Format(kind="OpenDocument file", module="opendocument"),
    b"application/epub+zip": Format(kind="EPUB book", module="epub"),
}
_BY_SUFFIX = {
    ".html": Format(kind="HTML page", module="html"),
    ".htm": Format(kind="HTML page", module="html"),
    ".xhtml": Format(kind="HTML page", module="html"),
    ".eml": Format(kind="e-mail", module="mail"),
    ".csv": Format(kind="table", module="table"),
    ".tsv": Format(kind="table", module="table"),
    ".ipynb": Format(kind="notebook", module="notebook"),
}


_KINDS_BY_SUFFIX = {
    ".pdf": "PDF",
    **dict.fromkeys((".docx", ".doc"), "Word document"),
    ".rtf": "rich text",
    ".msg": "e-mail",
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xltx", ".xls"), "Excel workbook"),
    **dict.fromkeys((".pptx", ".ppt"), "PowerPoint presentation"),
    ".odt": "OpenDocument text",
    ".ods": "OpenDocument spreadsheet",
    ".odp": "OpenDocument presentation",
    ".epub": "EPUB book",
    ".eml": "e-mail",
    ".ipynb": "notebook",
}


def is_pdf(head: bytes) -> bool:
    """Return whether the file is a PDF. PDF readers accept other bytes before the signature."""
    return b"%PDF-" in head[:_PDF_HEAD]


def has_signature(head: bytes) -> bool:
    """Return whether the file can be a document by its first bytes. An archive can also contain something else."""
    return is_pdf(head) or head.startswith((b"PK\x03\x04", _CFB, _RTF))


def is_document(head: bytes, name: str) -> bool:
    """Return whether a model wants the text of this file, not the source. HTML and CSV count as source: models write
    them.
    """
    return has_signature(head) or PurePosixPath(name).suffix.lower() in (".eml", ".ipynb")


def is_plain_text(data: bytes) -> bool:
    """Return whether these are words in some encoding, without control characters."""
    encoding = detect_encoding(data)
    return encoding is not None and not _CONTROLS.search(encoding.readable(data))


def kind_by_name(name: str) -> str:
    """Return the likely kind of a file with this name, or "" if it is not read as a document."""
    return _KINDS_BY_SUFFIX.get(PurePosixPath(name).suffix.lower(), "")


def open_document(body: bytes, name: str) -> ParsedDocument:
    """Open a document of any format.

    Raises: DocumentParseError.
    """
    document_format = _format_of(body, name)
    try:
        reader = import_module(f"tools_app.documents.{document_format.module}")
        document: ParsedDocument = reader.open_document(body)
    except (DocumentParseError, MemoryError):
        raise
    except Exception as error:  # libraries raise any error for damaged parts
        raise DocumentParseError(f"It is damaged, or no {document_format.kind} that can be read here.") from error
    return document


def _format_of(body: bytes, name: str) -> Format:
    if is_pdf(body):
        return _PDF
    if body.startswith(b"PK"):
        return _format_of_archive(body)
    if body.startswith(_CFB):
        encrypted = "EncryptedPackage".encode("utf-16-le") in body
        if not encrypted and (by_stream := _format_by_stream(body)):
            return by_stream
        raise DocumentParseError("It is encrypted and needs a password." if encrypted else _OLD_OFFICE_FILE)
    if body.startswith(_RTF):
        return _RICH_TEXT
    if by_suffix := _BY_SUFFIX.get(PurePosixPath(name).suffix.lower()):
        return by_suffix
    raise DocumentParseError("It is no document of a format that is known here.")


def _format_by_stream(body: bytes) -> Format | None:
    """Return the format of a compound file by its streams, or None if it is none that is read here."""
    import olefile  # type: ignore[import-untyped]

    try:
        with olefile.OleFileIO(BytesIO(body)) as compound:
            return next((kind for stream, kind in _BY_STREAM.items() if compound.exists(stream)), None)
    except OSError:
        return None


def _format_of_archive(body: bytes) -> Format:
    try:
        with zipfile.ZipFile(BytesIO(body)) as archive:
            entries = archive.infolist()
            _check_entries(entries)
            names = {entry.filename.replace("\\", "/").lstrip("/").lower(): entry for entry in entries}
            mimetype = archive.read(names["mimetype"]) if "mimetype" in names else b""
            if mimetype or any(name.startswith(folder) for folder in _BY_ENTRY for name in names):
                types = b""
            else:
                types = archive.read(_CONTENT_TYPES) if _CONTENT_TYPES.lower() in names else b""
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise DocumentParseError("It is damaged.") from error
    for prefix, document_format in _BY_MIMETYPE.items():
        if mimetype.startswith(prefix):
            return document_format
    for folder, document_format in _BY_ENTRY.items():
        if any(name.startswith(folder) for name in names):
            return document_format
    for name, document_format in _BY_MAIN_TYPE.items():
        if name in types:
            return document_format
    raise DocumentParseError("It is an archive, not a document. Unpack it with the shell.")


def _check_entries(entries: Collection[zipfile.ZipInfo]) -> None:
    """Check the declared sizes, which are binding: zipfile never unpacks more of an entry.

    Raises: DocumentParseError.
    """
    dense = any(entry.file_size > max(_LARGE_ENTRY, _MAX_RATIO * entry.compress_size) for entry in entries)
    if dense or sum(entry.file_size for entry in entries) > _MAX_UNPACKED:
        raise DocumentParseError("It is too large when unpacked.")
    if any(entry.flag_bits & 1 for entry in entries):  # APPNOTE 4.4.4
        raise DocumentParseError("It is encrypted and needs a password.")

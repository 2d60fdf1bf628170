"""Which format a document has: by its signature, or, for what is text, by the end of its name."""

import re
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import PurePosixPath

from tools_app.documents.document import Document, Unreadable

_HEAD = 1024  # bytes; PDF readers allow others before the signature
_CFB = bytes.fromhex(
    "d0cf11e0a1b11ae1"
)  # [MS-_CFB] 2.2: Office 97–2003, and encrypted Office files ([MS-OFFCRYPTO] 2.3)
_MOST_UNPACKED = 500 * 1000**2  # bytes; an archive that holds more is a bomb
_LARGE, _DENSE = 10 * 1000**2, 200  # an entry over so many bytes, packed to less than a 200th, is one as well
_OLD = "It is an Office file of before 2007 (.doc, .xls, .ppt). Save it as .docx, .xlsx or .pptx."


@dataclass(frozen=True, kw_only=True)
class Format:
    """`module` reads it; it may need a library of its own, and is imported when it is needed.

    `main_type` is the content type of the main part that its library takes.
    """

    kind: str
    module: str
    main_type: bytes = b""


_TYPES = "[Content_Types].xml"
_MAIN = b"application/vnd.openxmlformats-officedocument.%s.main+xml"
# Templates, slide shows and files with macros: the same parts under other types (ISO 29500-1, 11.3.10 and 13.3.6).
_VARIANT = re.compile(
    rb"application/vnd\.(ms-word\.(document|template)\.macroEnabled(Template)?|ms-powerpoint\.\w+\.macroEnabled"
    rb"|openxmlformats-officedocument\.(wordprocessingml\.template|presentationml\.(template|slideshow)))\.main\+xml"
)
_PDF = Format(kind="PDF", module="pdf")
_BY_ENTRY = {  # ISO 29500-2: the parts of an Office file lie in a folder of their application
    "word/": Format(kind="Word document", module="text_document", main_type=_MAIN % b"wordprocessingml.document"),
    "xl/": Format(kind="Excel workbook", module="spreadsheet"),
    "ppt/": Format(
        kind="PowerPoint presentation", module="presentation", main_type=_MAIN % b"presentationml.presentation"
    ),
}
_BY_MIMETYPE = {  # OpenDocument 1.3 part 2, 3.3 and EPUB 3.3, 4.2.6.2: the first entry, `mimetype`, says what it is
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


_NAMED = {
    ".pdf": "PDF",
    ".docx": "Word document",
    ".xlsx": "Excel workbook",
    ".pptx": "PowerPoint presentation",
    ".odt": "OpenDocument text",
    ".ods": "OpenDocument spreadsheet",
    ".odp": "OpenDocument presentation",
    ".epub": "EPUB book",
    ".eml": "e-mail",
    ".ipynb": "notebook",
}


def is_pdf(head: bytes) -> bool:
    """PDF readers allow other bytes before the signature."""
    return b"%PDF-" in head[:_HEAD]


def has_signature(head: bytes) -> bool:
    """Whether a file that begins so may be a document, whatever its name: an archive may also hold something else."""
    return is_pdf(head) or head.startswith((b"PK\x03\x04", _CFB))


def is_document(head: bytes, name: str) -> bool:
    """Whether a model wants to read its text rather than its source: not of HTML and CSV, which it also writes."""
    return has_signature(head) or PurePosixPath(name).suffix.lower() in (".eml", ".ipynb")


def kind_by_name(name: str) -> str:
    """What a file of this name is most likely, "" if the reader of documents is not what reads it."""
    return _NAMED.get(PurePosixPath(name).suffix.lower(), "")


def open_document(body: bytes, name: str) -> Document:
    """Raises Unreadable."""
    found = _format_of(body, name)
    try:
        body = _as_document(body, found.main_type) if found.main_type else body
        opened: Document = import_module(f"tools_app.documents.{found.module}").open_document(body)
    except (Unreadable, MemoryError):
        raise
    except Exception as error:  # damaged parts make the libraries raise anything
        raise Unreadable(f"It is damaged, or no {found.kind} that can be read here.") from error
    return opened


def _as_document(body: bytes, main_type: bytes) -> bytes:
    """The archive with the content type of an ordinary document, where it has one of the variants."""
    with zipfile.ZipFile(BytesIO(body)) as archive:
        types = archive.read(_TYPES) if _TYPES in archive.namelist() else b""
        if not _VARIANT.search(types):
            return body
        out = BytesIO()
        with zipfile.ZipFile(out, "w") as copy:
            for entry in archive.namelist():
                copy.writestr(entry, _VARIANT.sub(main_type, types) if entry == _TYPES else archive.read(entry))
    return out.getvalue()


def _format_of(body: bytes, name: str) -> Format:
    if is_pdf(body):
        return _PDF
    if body.startswith(b"PK"):
        return _in_archive(body)
    if body.startswith(_CFB):
        encrypted = "EncryptedPackage".encode("utf-16-le") in body
        raise Unreadable("It is encrypted and needs a password." if encrypted else _OLD)
    if found := _BY_SUFFIX.get(PurePosixPath(name).suffix.lower()):
        return found
    raise Unreadable("It is no document of a format that is known here.")


def _in_archive(body: bytes) -> Format:
    try:
        with zipfile.ZipFile(BytesIO(body)) as archive:
            entries = archive.infolist()
            _require_unpackable(entries)
            names = {entry.filename for entry in entries}
            mimetype = archive.read("mimetype") if "mimetype" in names else b""
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise Unreadable("It is damaged.") from error
    found = next((each for begin, each in _BY_MIMETYPE.items() if mimetype.startswith(begin)), None)
    found = found or next((each for folder, each in _BY_ENTRY.items() if _any_in(folder, names)), None)
    if not found:
        raise Unreadable("It is an archive, not a document. Unpack it with the shell.")
    return found


def _require_unpackable(entries: Collection[zipfile.ZipInfo]) -> None:
    """Raises Unreadable. What an entry declares binds: zipfile never unpacks more of it."""
    dense = any(entry.file_size > max(_LARGE, _DENSE * entry.compress_size) for entry in entries)
    if dense or sum(entry.file_size for entry in entries) > _MOST_UNPACKED:
        raise Unreadable("It is too large when unpacked.")
    if any(entry.flag_bits & 1 for entry in entries):  # APPNOTE 4.4.4
        raise Unreadable("It is encrypted and needs a password.")


def _any_in(folder: str, names: Collection[str]) -> bool:
    return any(name.startswith(folder) for name in names)

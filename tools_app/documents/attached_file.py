"""A file within an e-mail or a PDF: a document, a file of Outlook, or text."""

from collections.abc import Sequence

from tools_app.documents import formats, tnef
from tools_app.documents.document import DocumentParseError, ParsedPart
from tools_app.files.encoding import decode_text

MOST = 50  # attached files that are read


def parts_of(content: bytes, name: str, kind: str = "file") -> Sequence[ParsedPart]:
    """Return the file's parts, or one with the reason why it cannot be read."""
    if tnef.has_signature(content):
        parts = [ParsedPart(title=title, lines=[decode_text(text)]) for title, text in tnef.texts(content)]
        for inner_name, inner in tnef.attachments(content):
            parts += titled(inner_name, parts_of(inner, inner_name))
        return parts or [ParsedPart(title="", lines=["[A file of Outlook (TNEF) without text or attachments.]"])]
    try:
        return formats.open_document(content, "" if name.endswith(".eml") else name).parts
    except DocumentParseError as error:
        if formats.is_plain_text(content):
            return [ParsedPart(title="", lines=[decode_text(content)])]
        return [ParsedPart(title="", lines=[f"[{kind}, {len(content):,} bytes: {error}]"])]


def titled(name: str, parts: Sequence[ParsedPart]) -> list[ParsedPart]:
    """Return the parts with the name of their file before their own titles."""
    titles = [f"{name}, {part.title}" if part.title else name for part in parts]
    return [ParsedPart(title=title, lines=part.lines) for title, part in zip(titles, parts, strict=True)]

"""Readers of PDF, Office and other documents as text for a model, and writers of documents."""

from tools_app.documents.document import NO_TEXT, tidy, visible
from tools_app.documents.formats import has_signature, is_document, is_pdf, kind_by_name
from tools_app.documents.reader import (
    DocumentExcerpt,
    PartExcerpt,
    TableExcerpt,
    UnreadableDocument,
    page_picture,
    read_document,
)

__all__ = [
    "NO_TEXT",
    "DocumentExcerpt",
    "PartExcerpt",
    "TableExcerpt",
    "UnreadableDocument",
    "has_signature",
    "is_document",
    "is_pdf",
    "kind_by_name",
    "page_picture",
    "read_document",
    "tidy",
    "visible",
]

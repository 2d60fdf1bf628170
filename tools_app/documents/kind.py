"""Which files are documents, told by their first bytes: what a server says of them is often wrong."""

_PDF, _ZIP = b"%PDF-", b"PK\x03\x04"
_HEAD = 1024  # bytes; readers allow rubbish before the mark
_NOT = ("text/", "application/java-archive", "application/vnd.android")


def is_document(body: bytes, content_type: str) -> bool:
    """Whether it may be one: an archive that holds no document is found out when it is read."""
    if _PDF in body[:_HEAD]:
        return True
    return body.startswith(_ZIP) and not content_type.startswith(_NOT)

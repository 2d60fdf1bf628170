"""Compound files ([MS-CFB]): Office files of 1997–2003 and Outlook messages."""

from io import BytesIO

import olefile  # type: ignore[import-untyped]

from tools_app.documents.document import DocumentParseError

ENCRYPTED = "It is encrypted and needs a password."


def opened(body: bytes) -> olefile.OleFileIO:
    """Return the parsed file.

    Raises: DocumentParseError.
    """
    try:
        return olefile.OleFileIO(BytesIO(body))
    except OSError as error:
        raise DocumentParseError("It is damaged, or no Office file that can be read here.") from error

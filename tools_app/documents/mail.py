"""The e-mail reader (.eml, RFC 5322 and MIME): headers and text, then each attachment that can be read."""

from collections.abc import Iterable, Iterator
from email import policy
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from typing import Any

from lxml import etree

from tools_app.documents import formats, html
from tools_app.documents.document import DocumentParseError, ParsedDocument, ParsedPart

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_MAX_ATTACHMENTS = 50
_MAX_DEPTH = 3  # levels of nested e-mails


def open_document(body: bytes) -> ParsedDocument:
    return _document(BytesParser(EmailMessage, policy=policy.default).parsebytes(body), 0)


def _document(mail: EmailMessage, depth: int) -> ParsedDocument:
    attachments = list(mail.iter_attachments()) if mail.is_multipart() else []
    parts = [ParsedPart(title="message", lines=_lines(mail))]
    for attachment in attachments[:_MAX_ATTACHMENTS]:
        parts += _attachment(attachment, depth)
    more = len(attachments) - _MAX_ATTACHMENTS
    if more > 0:
        parts.append(ParsedPart(title="attachments", lines=[f"[{more} more attachments are not shown]"]))
    return ParsedDocument(kind="e-mail", unit="part", title=str(mail["Subject"] or ""), parts=parts)


def _lines(mail: EmailMessage) -> Iterator[str]:
    yield from (f"{name}: {mail[name]}" for name in _HEADERS if mail[name])
    yield ""
    body = mail.get_body(("plain", "html"))
    if not body:
        yield "[It has no text.]"
    elif body.get_content_subtype() == "html":
        yield _html_text(body)
    else:
        yield str(_content(body))


def _html_text(body: MIMEPart) -> str:
    try:
        return html.outline(html.parsed(str(_content(body)).encode(errors="replace"))[1])
    except etree.ParserError:
        return "[It has no text.]"


def _attachment(attachment: EmailMessage, depth: int) -> Iterable[ParsedPart]:
    name = attachment.get_filename() or attachment.get_content_type()
    content = _content(attachment)
    if isinstance(content, str):
        return [ParsedPart(title=f"attachment {name}", lines=[content])]
    if isinstance(content, EmailMessage):
        inner = _document(content, depth + 1).parts if depth < _MAX_DEPTH else []
    else:
        try:
            inner = formats.open_document(content, "" if name.endswith(".eml") else name).parts
        except DocumentParseError as error:
            note = f"[{attachment.get_content_type()}, {len(content):,} bytes: {error}]"
            return [ParsedPart(title=f"attachment {name}", lines=[note])]
    return [ParsedPart(title=f"attachment {name}, {part.title}", lines=part.lines) for part in inner]


def _content(part: MIMEPart) -> Any:
    """Return the content as text, bytes or an e-mail. Parts that the library cannot decode are returned as bytes."""
    try:
        return part.get_content()
    except LookupError:
        data = part.get_payload(decode=True)
        data = data if isinstance(data, bytes) else part.as_bytes()
        return data.decode(errors="replace") if part.get_content_maintype() == "text" else data

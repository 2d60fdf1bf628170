"""The e-mail reader (.eml, RFC 5322 and MIME): headers and text, then each attachment that can be read."""

import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from quopri import decodestring
from urllib.parse import unquote_to_bytes

from lxml import etree

from tools_app.documents import html
from tools_app.documents.attached_file import MOST, parts_of, titled
from tools_app.documents.document import ParsedDocument, ParsedPart
from tools_app.files.encoding import decode_text

_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_MAX_DEPTH = 3  # levels of nested e-mails
_MAX_HEADER = 20_000  # characters
# RFC 2047, with the spaces in an encoded word that some programs send
_ENCODED_WORD = re.compile(r"=\?([\w.:-]{1,60})(?:\*[\w-]{1,20})?\?([BbQq])\?([^?\n]{0,2000})\?=")
_BETWEEN_WORDS = re.compile(r"(?<=\?=)\s++(?==\?)")
_PARAMETER = re.compile(  # RFC 2045 and 2231: name=…, filename*=…, filename*0*=…
    r";\s*+(?:file)?name(?P<piece>\*\d{1,3})?(?P<extended>\*)?\s*+=\s*+(?:\"(?P<quoted>(?:[^\"\\]|\\.)*+)\"|(?P<bare>[^;]*+))",
    re.IGNORECASE | re.DOTALL,
)
_WORD, _ADDRESS = re.compile(r"\w{2,}+"), re.compile(r"\(https?://[^()\s]*+\)")
_MOST_MISSING = 0.2  # of the words of the HTML; a plain text can be only a notice
_SUBTYPES_OF_TEXT = ("text/html", "text/plain", "text/enriched", "text/richtext", "text/watch-html", "text/x-amp-html")


def open_document(body: bytes) -> ParsedDocument:
    return _document(BytesParser(EmailMessage, policy=policy.default).parsebytes(body), 0)


def _document(mail: EmailMessage, depth: int) -> ParsedDocument:
    body = mail.get_body(("plain", "html"))
    attachments = list(_attachments(mail, body))
    parts = [ParsedPart(title="message", lines=_lines(mail, body)), *_other_version(mail, body)]
    for attachment in attachments[:MOST]:
        parts += _attachment(attachment, depth)
    more = len(attachments) - MOST
    if more > 0:
        parts.append(ParsedPart(title="attachments", lines=[f"[{more} more attachments are not shown]"]))
    return ParsedDocument(kind="e-mail", unit="part", title=_header(mail, "Subject"), parts=parts)


def _other_version(mail: EmailMessage, body: object) -> Iterator[ParsedPart]:
    """Yield the HTML of an e-mail if its plain text lacks many of the words."""
    other = mail.get_body(("html",))
    if not isinstance(other, EmailMessage) or not isinstance(body, EmailMessage) or other is body:
        return
    text = _text(other)
    words = set(_WORD.findall(_ADDRESS.sub("", text)))
    missing = words - set(_WORD.findall(_text(body)))
    if len(missing) > _MOST_MISSING * len(words):
        yield ParsedPart(title="message, its HTML", lines=[text])


def _attachments(mail: EmailMessage, body: object) -> Iterator[EmailMessage]:
    """Yield the parts other than the body, at any depth, without the body in other formats."""
    stack = [(mail, False)]
    while stack:
        part, is_alternative = stack.pop()
        is_named = bool(_name(part))
        if part.is_multipart() and part.get_content_maintype() == "multipart":
            kind = part.get_content_subtype()
            inner = [child for child in part.iter_parts() if isinstance(child, EmailMessage)]
            stack += [(child, is_alternative or kind == "alternative") for child in reversed(inner)]
        elif part is not body and (is_named or not is_alternative or part.get_content_type() not in _SUBTYPES_OF_TEXT):
            yield part


def _lines(mail: EmailMessage, body: object) -> Iterator[str]:
    yield from (f"{name}: {value}" for name in _HEADERS if (value := _header(mail, name)))
    yield ""
    yield _text(body) if isinstance(body, EmailMessage) else "[It has no text.]"


def _text(part: EmailMessage) -> str:
    """Return the text of a part, by the charset that it names, or else a guess."""
    text = decode_text(_bytes(part), _charset(part))
    if part.get_content_subtype() != "html":
        return text
    try:
        return html.outline(html.parsed(text)[1])
    except etree.ParserError:
        return "[It has no text.]"


def _attachment(attachment: EmailMessage, depth: int) -> Sequence[ParsedPart]:
    name = _name(attachment) or attachment.get_content_type()
    if attachment.get_content_maintype() == "message" and attachment.is_multipart():
        mails = [child for child in attachment.iter_parts() if isinstance(child, EmailMessage)]
        parts = _document(mails[0], depth + 1).parts if mails and depth < _MAX_DEPTH else []
    elif attachment.get_content_maintype() == "text" and not name.lower().endswith((".htm", ".html")):
        return [ParsedPart(title=f"attachment {name}", lines=[_text(attachment)])]
    else:
        parts = parts_of(_bytes(attachment), name, attachment.get_content_type())
    return titled(f"attachment {name}", parts)


def _bytes(part: EmailMessage) -> bytes:
    """Return the decoded content, as far as it is intact."""
    transfer = str(part.get("Content-Transfer-Encoding") or "").strip().lower()
    if transfer == "base64":
        raw = str(part.get_payload()).encode("ascii", "surrogateescape")
        return _base64(raw)
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _base64(raw: bytes) -> bytes:
    """Decode base64 without the bytes that do not belong to it, and without an incomplete end."""
    pieces = re.sub(rb"[^A-Za-z0-9+/=]", b"", raw).split(b"=")  # some programs join texts that are encoded each
    whole = (piece[: len(piece) - (len(piece) % 4 == 1)] for piece in pieces)
    return b"".join(b64decode(piece + b"=" * (-len(piece) % 4)) for piece in whole)


def _charset(part: EmailMessage) -> str:
    match = re.search(r"charset\*?\s*+=\s*+[\"']?([^\s\"';]{1,60})", _raw(part, "Content-Type"), re.IGNORECASE)
    return match[1].split("'")[0] if match else ""


def _name(part: EmailMessage) -> str:
    """Return the file name of a part, as programs write it: by RFC 2231, as an encoded word, or raw."""
    for header in ("Content-Disposition", "Content-Type"):
        if found := list(_PARAMETER.finditer(_raw(part, header))):
            numbered = sorted((match for match in found if match["piece"]), key=lambda match: int(match["piece"][1:]))
            pieces = numbered or [match for match in found if match["extended"]][:1]
            return _extended_value(pieces) if pieces else _decoded_header(re.sub(r"\\(.)", r"\1", _value(found[0])))
    return ""


def _extended_value(pieces: Sequence[re.Match[str]]) -> str:
    """Return a value of RFC 2231, charset'language'%41… in one or several pieces."""
    charset, data = "", b""
    for match in pieces:
        value = _value(match)
        if match is pieces[0] and match["extended"] and value.count("'") >= 2:
            charset, _, value = value.split("'", 2)
        data += unquote_to_bytes(_encoded(value)) if match["extended"] else _encoded(value)
    return decode_text(data, charset)


def _value(match: re.Match[str]) -> str:
    return match["quoted"] or (match["bare"] or "").strip()


def _header(mail: EmailMessage, name: str) -> str:
    return _decoded_header(" ".join(_raw(mail, name).split()))


def _raw(mail: EmailMessage, name: str) -> str:
    """Return a header as it was sent. Bytes beyond ASCII are lone surrogates in it."""
    return next((str(value) for key, value in mail.raw_items() if key.lower() == name.lower()), "")[:_MAX_HEADER]


def _decoded_header(raw: str) -> str:
    """Decode encoded words, those next to each other together, as a character can be cut between them."""
    text, position = "", 0
    pending, charset = b"", ""
    raw = _BETWEEN_WORDS.sub("", raw)
    for match in _ENCODED_WORD.finditer(raw):
        if pending and (match.start() > position or match[1].lower() != charset):
            text, pending = text + decode_text(pending, charset), b""
        text += _plain(raw[position : match.start()])
        data = match[3].encode("ascii", "surrogateescape")
        pending += _base64(data) if match[2] in "Bb" else decodestring(data, header=True)
        position, charset = match.end(), match[1].lower()
    return text + (decode_text(pending, charset) if pending else "") + _plain(raw[position:])


def _plain(raw: str) -> str:
    return decode_text(_encoded(raw))


def _encoded(raw: str) -> bytes:
    return raw.encode("utf-8", "surrogateescape")

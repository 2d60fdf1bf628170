"""Bytes → text, also where a server or a page names the wrong encoding, or none."""

import codecs
import re
from collections.abc import Iterator

_HEAD = 4096  # bytes in which a page must name its charset; the HTML standard says 1024
_META = re.compile(rb"<meta[^>]+?charset\s*=\s*[\"']?\s*([a-z0-9_:.-]+)|<\?xml[^>]+encoding=[\"']([a-z0-9_:.-]+)", re.I)
# What a page may name. Python's other codecs are no charsets, and some of them ("punycode") take quadratic time.
_CHARSET = re.compile(
    r"(utf-?(8|16|32)|us-ascii$|ascii$|iso|latin|windows-|cp\d|koi8|gb|big5|euc|shift|sjis|tis|mac|hz|ks_c)", re.I
)
# What is really meant by a name, as browsers read it (encoding.spec.whatwg.org): the larger set of the same family.
_MEANT = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "iso8859-1": "cp1252"}
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_FLAW = "\ufffd"
_FEW = 0.25  # of the characters beyond ASCII: a wrong charset spoils nearly all of them, a fault of the page some


def decode(body: bytes, declared: str = "", *, truncated: bool = False) -> str:
    """`declared` is the charset in the HTTP header; `truncated` allows half a character at the end. Never fails."""
    charsets = list(_candidates(body, declared))
    for flaws_allowed in (0, _FEW):
        for charset in charsets:
            text = body.decode(charset, errors="replace")
            text = text.rstrip(_FLAW) if truncated else text
            if text.count(_FLAW) <= flaws_allowed * _beyond_ascii(text):
                return text
    return body.decode("cp1252", errors="replace")


def _candidates(body: bytes, declared: str) -> Iterator[str]:
    """Text that is valid as UTF-8 is UTF-8, whatever its header says; only 7-bit bytes leave that open."""
    yield from (charset for mark, charset in _BOMS.items() if body.startswith(mark))
    if not body.isascii():
        yield "utf-8"
    match = _META.search(body[:_HEAD])
    in_page = (match[1] or match[2]).decode() if match else ""
    yield from (_MEANT.get(name, name) for name in (_known(declared), _known(in_page), "utf-8") if name)


def _known(name: str) -> str:
    """Python's name of a charset, empty if it is none."""
    try:
        return codecs.lookup(name).name if _CHARSET.match(name) else ""
    except LookupError:
        return ""


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", errors="ignore"))

"""The charsets that a page, an e-mail or a file can name, as browsers understand the names."""

import codecs
import re

_META = re.compile(
    rb"<meta[^<>]+?charset\s*+=\s*+[\"']?+\s*+([a-z0-9_:.-]+)|<\?xml[^<>]+encoding=[\"']([a-z0-9_:.-]+)"
    rb"|^[ \t]*+#[^\n]{0,40}?coding[:=][ \t]*+([a-z0-9_.-]+)",
    re.IGNORECASE | re.MULTILINE,
)
_META_BYTES = 4096  # bytes searched for a declaration; the HTML standard says 1024
# Accepted names. Python's other codecs are not charsets, and some ("punycode") take quadratic time.
_CHARSET = re.compile(
    r"(utf-?(7$|8|16|32)|iso|latin|windows-|cp-?\d|ibm|dos-|ms-?9|koi8|gb|big5|euc|shift|s-?jis|tis|mac|hz|ks_?c|ksx|viscii)"
)
_NOT_DECLARED = ("us-ascii", "ascii", "ansi_x3.4-1968", "iso646-us", "7bit", "8bit", "binary")  # of bytes beyond ASCII
# The superset that browsers use for a name (encoding.spec.whatwg.org), and names that Python does not know.
_MEANT = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "gb_2312-80": "gb18030",
    "hz-gb-2312": "hz",
    "ms936": "gb18030",
    "windows-936": "gb18030",
    "shift_jis": "cp932",
    "sjis": "cp932",
    "ms932": "cp932",
    "windows-31j": "cp932",
    "windows-932": "cp932",
    "euc_kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "ks_c_5601-1989": "cp949",
    "ksc5601": "cp949",
    "ksc_5601": "cp949",
    "windows-949": "cp949",
    "big5": "big5hkscs",
    "cp950": "big5hkscs",
    "windows-950": "big5hkscs",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "windows-874": "cp874",
    "iso8859-8-i": "iso8859-8",
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "koi8": "koi8-r",
    "koi8-ru": "koi8-u",
    "utf8mb4": "utf-8",
}
_NAMES = {
    "utf-8": "UTF-8",
    "latin-1": "Latin-1",
    "cp932": "Shift-JIS",
    "cp949": "EUC-KR",
    "cp950": "Big5",
    "big5hkscs": "Big5",
    "euc_jp": "EUC-JP",
    "iso2022_jp": "ISO-2022-JP",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32-le": "UTF-32",
    "utf-32-be": "UTF-32",
    "mac_roman": "Mac Roman",
}
_WINDOWS = re.compile(r"cp(125\d|874)")


def codec_of(label: str) -> str:
    """Return the codec of a charset's name, or "" if it is no charset, is unknown, or means nothing ("us-ascii")."""
    name = label.strip().strip("\"'").lower()
    for prefix in ("x-", "cs"):
        name = name.removeprefix(prefix)
    if name in _NOT_DECLARED:
        return ""
    name = _MEANT.get(name, name)
    try:
        codec = codecs.lookup(name.replace("cp-", "cp").replace("dos-", "cp")).name if _CHARSET.match(name) else ""
    except LookupError:
        return ""
    return _MEANT.get(codec, codec)


def declared_codec(data: bytes) -> str:
    """Return the codec that a page, an XML file or a source names at its beginning, or ""."""
    match = _META.search(data[:_META_BYTES])
    return codec_of((match[1] or match[2] or match[3]).decode()) if match else ""


def charset_name(codec: str) -> str:
    """Return the name of a codec that people use."""
    if match := _WINDOWS.fullmatch(codec):
        return f"Windows-{match[1]}"
    return _NAMES.get(codec) or codec.upper().replace("_", "-").replace("ISO8859", "ISO-8859")

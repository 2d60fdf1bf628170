"""The forms in which a secret may occur in a text: unchanged, escaped for another language, or encoded."""

import base64
import html
import json
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from urllib.parse import quote, quote_plus

SHORTEST_LINE = 8  # characters; shorter lines of a secret reveal little and occur in many texts
_HEADING = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]+-----")  # the same in all PEM files
_PERCENT = re.compile("%[0-9A-F]{2}")
_UNICODE = re.compile(r"\\u[0-9a-f]{4}")
_SAFE = ("", "/", "!'()*", "!#$&'()*+,/:;=?@[]~")  # unescaped by quote(), encodeURIComponent() and encodeURI()
_MARKUP = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})  # escapes of JSON inside HTML


@dataclass(frozen=True, kw_only=True)
class Forms:
    """The forms of a secret. `written` forms occur unchanged; `packed` forms may contain white space.

    Programs that print base64 or hex wrap lines, and some separate the bytes with spaces.
    """

    written: frozenset[str]
    packed: frozenset[str]


@lru_cache(maxsize=4096)
def forms_of(value: str) -> Forms:
    """Return all forms of a value and of each of its lines. Surrounding white space is not part of it."""
    value = value.strip()
    lines = (line.strip() for line in value.splitlines())
    values = {value, *(line for line in lines if len(line) >= SHORTEST_LINE and not _HEADING.fullmatch(line))} - {""}
    return Forms(
        written=frozenset().union(*map(_escaped_forms, values)),
        packed=frozenset().union(*map(_encoded_forms, values)),
    )


# --- escaped ----------------------------------------------------------------------------------------------------


def _escaped_forms(value: str) -> set[str]:
    forms = {value} | _json_forms(value) | _url_forms(value) | _html_forms(value) | _literal_forms(value)
    for string in _json_strings(value):  # escaped twice
        forms |= _json_strings(string) | _html_forms(string) | {quote(string, safe="")}
    return forms


def _json_strings(value: str) -> set[str]:
    return {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}


def _json_forms(value: str) -> set[str]:
    """Return JSON strings: with and without escapes for non-ASCII, slashes and markup, and with hex digits in either
    case.
    """
    strings = _json_strings(value)
    strings |= {form.replace("/", "\\/") for form in strings} | {form.translate(_MARKUP) for form in strings}
    return strings | {_UNICODE.sub(_upper_hex, form) for form in strings}


def _upper_hex(escape: re.Match[str]) -> str:
    return "\\u" + escape[0][2:].upper()


def _url_forms(value: str) -> set[str]:
    quoted = {quote(value, safe=safe) for safe in _SAFE} | {quote_plus(value)}
    return quoted | {_PERCENT.sub(lambda escape: escape[0].lower(), form) for form in quoted}


def _html_forms(value: str) -> set[str]:
    escaped = html.escape(value)
    forms = {escaped, html.escape(value, quote=False), escaped.replace("&#x27;", "&#39;")}
    forms.add(escaped.replace("&#x27;", "&apos;"))
    return forms | {form.encode("ascii", "xmlcharrefreplace").decode() for form in forms}


def _literal_forms(value: str) -> set[str]:
    """Return Python literals and shell-quoted forms."""
    printed = {repr(value)[1:-1], ascii(value)[1:-1], repr(value.encode())[2:-1]}
    return printed | {value.replace("'", "'\"'\"'"), value.replace("'", "'\\''")}


# --- encoded ----------------------------------------------------------------------------------------------------


def _encoded_forms(value: str) -> set[str]:
    """Return the encoded forms without white space. They are searched in texts without white space."""
    data = value.encode()
    encoded = {data.hex(), data.hex().upper()}
    for form in map(partial(_base64_digits, data), range(3)):
        encoded |= {form, form.translate(str.maketrans("+/", "-_"))}
    return encoded


def _base64_digits(data: bytes, bytes_before: int) -> str:
    """Return the base64 digits that only depend on `data` when `bytes_before` bytes (modulo 3) precede it."""
    encoded = base64.b64encode(bytes(bytes_before) + data + bytes(3)).decode()
    return encoded[-(-8 * bytes_before // 6) : 8 * (bytes_before + len(data)) // 6]

"""The allow list of elements, attributes and addresses in rendered HTML."""

import re
from functools import lru_cache, partial
from urllib.parse import unquote

import nh3

from tasks_app.pages.markdown import PICTURES

_LIBRARY = re.compile(r"/library/\d{1,18}/\?page=\d{1,9}", re.ASCII)
OUTSIDE = re.compile(r"https?://|mailto:", re.IGNORECASE)
_MATH = {
    *("math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "mpadded"),
    *("mphantom", "menclose", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts"),
    *("mprescripts", "none", "mtable", "mtr", "mtd"),
}
_TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "span"),
    *("strong", "em", "s", "a", "img", "div", "table", "thead", "tbody", "tr", "th", "td", "sup", "section", "input"),
    *("figure", "figcaption", "details", "summary", "small"),
}
_WITH_DIRECTION = ("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "blockquote", "table", "th", "td")
_MATH_ATTRIBUTES = {
    *("class", "display", "displaystyle", "scriptlevel", "mathvariant", "mathcolor", "stretchy", "fence", "separator"),
    *("form", "lspace", "rspace", "minsize", "maxsize", "symmetric", "largeop", "movablelimits", "accent"),
    *("accentunder", "linethickness", "width", "height", "depth", "voffset", "notation", "columnspan", "rowspan"),
}
_TAG_ATTRIBUTES: dict[str, set[str]] = {
    "p": {"class", "tabindex"},
    "a": {"href", "target", "id", "class", "aria-label"},
    "img": {"src", "alt"},
    "ol": {"start", "class"},
    "ul": {"class"},
    "li": {"id", "class"},
    "code": {"class"},
    "span": {"class", "tabindex"},
    "div": {"aria-label"},
    "th": {"class"},
    "td": {"class"},
    "sup": {"class"},
    "section": {"class", "aria-label"},
    "figure": {"class"},
    "details": {"class", "id"},
    "input": {"checked"},
}
_ATTRIBUTES: dict[str, set[str]] = {
    "*": set(),
    **{tag: _TAG_ATTRIBUTES.get(tag, set()) | ({"dir"} if tag in _WITH_DIRECTION else set()) for tag in _TAGS},
    **dict.fromkeys(_MATH, _MATH_ATTRIBUTES),
}
_FIXED_ATTRIBUTES = {
    "img": {"loading": "lazy"},
    "pre": {"tabindex": "0"},  # scrollable by keyboard
    "div": {"class": "table", "role": "region", "tabindex": "0"},
    "input": {"type": "checkbox", "disabled": "", "aria-label": "Done"},
}
_CELL = r"(left|center|right)( short)?|short"
_CLASSES = {
    "p": "formula",
    "a": "footnote-backref",
    "ol": "contains-task-list|footnotes-list",
    "ul": "contains-task-list",
    "li": "task-list-item|footnote-item",
    "code": r"language-[\w+#.-]{1,30}",
    "div": "table",
    "span": r"[a-z][a-z0-9]{0,2}|formula",
    "th": _CELL,
    "td": _CELL,
    "sup": "footnote-ref",
    "section": "footnotes",
    "figure": "code|code diagram",
    "details": "code",
}
_MATH_CLASS = r"m-[a-z]+( m-[a-z]+)*"
_ID = re.compile(r"(fn|fnref|code)-[0-9a-f]{8}-\d+(:\d+)?", re.ASCII)
_MATH_VALUE = re.compile(r"[\w #+.-]{1,40}", re.ASCII)


def sanitised(html: str, files_url: str) -> str:
    return _cleaner(files_url).clean(html)


@lru_cache(maxsize=200)
def _cleaner(files_url: str) -> nh3.Cleaner:
    """Return a cleaner. It is cached: making one takes longer than cleaning a paragraph."""
    return nh3.Cleaner(
        tags=_TAGS | _MATH,
        attributes=_ATTRIBUTES,
        attribute_filter=partial(_filtered_value, files_url),
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values=_FIXED_ATTRIBUTES,
    )


def _filtered_value(files_url: str, tag: str, attribute: str, value: str) -> str | None:
    """Return the attribute's value, or None to remove the attribute."""
    match attribute:
        case "href":
            return value if _is_allowed_link(value, files_url) else None
        case "src":
            return value if _is_below(files_url, value) and value.lower().endswith(PICTURES) else None
        case "class":
            pattern = _MATH_CLASS if tag in _MATH else _CLASSES[tag]
            return value if re.fullmatch(pattern, value, re.ASCII) else None
        case "id":
            return value if _ID.fullmatch(value) else None
        case "dir":
            return value if value in ("auto", "rtl") else None
        case "target":
            return value if value == "_blank" else None
        case "tabindex":
            return "0"
    return value if tag not in _MATH or _MATH_VALUE.fullmatch(value) else None


def _is_allowed_link(address: str, files_url: str) -> bool:
    is_footnote = address.startswith("#") and _ID.fullmatch(address[1:])
    is_own = _is_below(files_url, address) or _is_below(ports_url(files_url), address)
    return bool(is_footnote or is_own or OUTSIDE.match(address) or _LIBRARY.fullmatch(address))


def _is_below(folder: str, address: str) -> bool:
    return folder.startswith("/") and address.startswith(folder) and ".." not in unquote(address)


def ports_url(files_url: str) -> str:
    """Return the URL below which the session's sandbox is previewed, empty without `files_url`."""
    return f"{files_url.removesuffix('files/')}ports/" if files_url else ""

"""Equations (ISO 29500-1, 22.1, Office Math) in the linear form that Office itself uses: `(a+b)/2`, `√(x^2+1)`."""

from collections.abc import Callable

from tools_app.documents.opendocument import Element, attribute, local_name

_PROPERTIES = {"ctrlPr", "rPr", "argPr"}
_HAT = "\u0302"
_ROOTS = {"": "√", "3": "∛", "4": "∜"}


def linear(element: Element) -> str:
    """Return the equation as a line."""
    if (name := local_name(element)) in ("t", "delText"):
        return element.text or ""
    if writer := _WRITERS.get(name):
        return writer(element)
    return _children(element)


def _children(element: Element) -> str:
    texts = (linear(child) for child in element if local_name(child) not in _PROPERTIES | {f"{local_name(element)}Pr"})
    return "".join(texts)


def _argument(element: Element, name: str) -> str:
    child = element.find(f"{{*}}{name}")
    return _children(child) if child is not None else ""


def _grouped(text: str) -> str:
    """Return the text in parentheses, unless it is one number or name."""
    is_short = text.isalnum() or len(text.replace(_HAT, "")) < 2 or _is_enclosed(text)
    return text if is_short else f"({text})"


def _is_enclosed(text: str) -> bool:
    """Return whether the first parenthesis closes at the end."""
    depth = 0
    for position, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return position == len(text) - 1 and text[0] == "("
    return False


def _property(element: Element, name: str, default: str) -> str:
    """Return a value of the element's properties. A property without a value is an empty character."""
    found = element.find(f"./*/{{*}}{name}")
    return default if found is None else attribute(found, "val")


def _scripts(element: Element) -> str:
    base, below, above = (_argument(element, name) for name in ("e", "sub", "sup"))
    below, above = below and f"_{_grouped(below)}", above and f"^{_grouped(above)}"
    return f"{below}{above} {base}" if local_name(element) == "sPre" else f"{_grouped(base)}{below}{above}"


def _fraction(element: Element) -> str:
    sign = {"noBar": "¦", "lin": "∕", "skw": "⁄"}.get(_property(element, "type", "bar"), "/")
    return f"{_grouped(_argument(element, 'num'))}{sign}{_grouped(_argument(element, 'den'))}"


def _radical(element: Element) -> str:
    degree, base = _argument(element, "deg"), _argument(element, "e")
    return f"{_ROOTS[degree]}{_grouped(base)}" if degree in _ROOTS else f"√({degree}&{base})"


def _sum(element: Element) -> str:
    below, above, base = (_argument(element, name) for name in ("sub", "sup", "e"))
    limits = (below and f"_{_grouped(below)}") + (above and f"^{_grouped(above)}")
    return f"{_property(element, 'chr', '∫')}{limits} {base}"


def _delimited(element: Element) -> str:
    inner = _property(element, "sepChr", "|").join(map(_children, element.iterchildren("{*}e")))
    return f"{_property(element, 'begChr', '(')}{inner}{_property(element, 'endChr', ')')}"


def _matrix(element: Element) -> str:
    rows = ("&".join(map(_children, row.iterchildren("{*}e"))) for row in element.iterchildren("{*}mr"))
    return f"■({'@'.join(rows)})"


def _function(element: Element) -> str:
    return f"{_argument(element, 'fName')} {_argument(element, 'e')}"


def _limit(element: Element) -> str:
    sign = "_" if local_name(element) == "limLow" else "^"
    return f"{_argument(element, 'e')}{sign}{_grouped(_argument(element, 'lim'))}"


def _accent(element: Element) -> str:
    return _grouped(_argument(element, "e")) + _property(element, "chr", _HAT)


def _bar(element: Element) -> str:
    return f"{'¯' if _property(element, 'pos', 'bot') == 'top' else '▁'}{_grouped(_argument(element, 'e'))}"


def _lines(element: Element) -> str:
    return f"█({'@'.join(map(_children, element.iterchildren('{*}e')))})"


_WRITERS: dict[str, Callable[[Element], str]] = {
    "f": _fraction,
    "rad": _radical,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "sPre": _scripts,
    "nary": _sum,
    "d": _delimited,
    "m": _matrix,
    "func": _function,
    "limLow": _limit,
    "limUpp": _limit,
    "acc": _accent,
    "bar": _bar,
    "eqArr": _lines,
}

"""The views of a file that a model can ask for: text, source, a picture or a part of it, or a charset."""

import re
from collections.abc import Sequence

from tools_app.documents.reader import Region
from tools_app.files.charsets import codec_of
from tools_app.files.encoding import Encoding

_VIEW = re.compile(r"text|source|(?P<picture>picture)(?P<places>(?: (?:top|middle|bottom|left|center|right)){0,2})")
# Shares of a page, which overlap: a line at the edge of one is complete in the next.
_ROWS = {"top": (0.0, 0.55), "middle": (0.225, 0.775), "bottom": (0.45, 1.0)}
_COLUMNS = {"left": (0.0, 0.55), "center": (0.225, 0.775), "right": (0.45, 1.0)}
HINT_ON_PLACES = " Small print is larger in a part: view='picture top left', or bottom, middle, right."


def checked_view(view: str | None) -> str | None:
    """Return the view.

    Raises: ValueError if there is none of this name.
    """
    if view and not _VIEW.fullmatch(view) and not codec_of(view):
        raise ValueError("view is text, source, picture, picture top left (…), or a charset such as Windows-1251")
    return view


def encoding_of(view: str | None) -> Encoding | None:
    """Return the encoding that the view names, if it does."""
    return None if not view or _VIEW.fullmatch(view) else Encoding(codec=codec_of(view))


def places_of(view: str | None) -> Sequence[str] | None:
    """Return the part of a page to draw, such as ["top", "left"]; none for all of it; None if no picture is meant."""
    match = _VIEW.fullmatch(view or "")
    return match["places"].split() if match and match["picture"] else None


def region_of(places: Sequence[str]) -> Region:
    """Return the part of a page in shares of it."""
    top, bottom = next((_ROWS[place] for place in places if place in _ROWS), (0.0, 1.0))
    left, right = next((_COLUMNS[place] for place in places if place in _COLUMNS), (0.0, 1.0))
    return left, top, right, bottom

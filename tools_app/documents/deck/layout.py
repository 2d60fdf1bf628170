"""Geometry of a slide in points: boxes of its blocks, its picture, and the font size at which its text fits."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tools_app.documents.deck.blocks import Block, SlideLine, SlideTable, TextRun

WIDTH, HEIGHT = 960, 540
MARGIN = 54
TITLE_SIZES = range(30, 17, -2)
LINE_HEIGHT = 1.2  # of the font size
CODE_SIZE, HEADING_SIZE = 0.85, 1.15  # of the font size
CODE_PADDING = 8
INDENT = 1.3  # of the font size, for each level of a list
_SIZES = range(28, 13, -1)  # readable font sizes, largest first
_SPACING = 0.45  # of the font size, after a paragraph
_GAP = 12  # between groups, and between text and picture
_CELL_PADDING = 5
_CELL_SIDES = 16
_NARROW, _WIDE = frozenset("iljtfrI.,:;!|'`()[]{}-/ "), frozenset("mwMW%@—&")


@dataclass(frozen=True, kw_only=True)
class Box:
    left: float
    top: float
    width: float
    height: float


TITLE = Box(left=MARGIN, top=26, width=WIDTH - 2 * MARGIN, height=68)
BODY = Box(left=MARGIN, top=112, width=WIDTH - 2 * MARGIN, height=386)


@dataclass(frozen=True, kw_only=True)
class PlacedGroup:
    """Neighbouring lines of one kind, or a table, and its box."""

    box: Box
    blocks: tuple[Block, ...]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Places on a slide. `points` counts lines and table rows, `fitting_points` those above the slide's edge."""

    size: int
    title_size: int
    text: Box
    groups: tuple[PlacedGroup, ...]
    picture: Box | None
    points: int
    fitting_points: int


def layout_of(title: str, blocks: Sequence[Block], picture_size: tuple[float, float] | None) -> Layout:
    """Place the blocks, and next to or below them a picture of this width and height, where it is larger."""
    text, picture = _areas(blocks, picture_size)
    size = next((size for size in _SIZES if _height(blocks, size, text.width) <= text.height), _SIZES[-1])
    groups = tuple(_placed(blocks, size, text))
    fits = [bottom <= text.height for bottom in _bottoms(blocks, size, text.width)]
    if picture is None and len(groups) == 1 and isinstance(blocks[0], SlideLine):
        groups = (PlacedGroup(box=text, blocks=groups[0].blocks),)
    return Layout(
        size=size,
        title_size=next(
            (size for size in TITLE_SIZES if wrapped_lines(title, size, TITLE.width) <= 2), TITLE_SIZES[-1]
        ),
        text=text,
        groups=groups,
        picture=picture and picture_size and _contained(picture_size, picture),
        points=len(fits),
        fitting_points=sum(fits),
    )


def column_widths(table: SlideTable, size: float, width: float) -> list[float]:
    """Return widths in proportion to the longest text of each column, within bounds."""
    longest = [
        max(min(text_width(_plain(row[column]), size), 20 * size) for row in table.rows if column < len(row))
        for column in range(len(table.alignments))
    ]
    needed = [length * 1.1 + _CELL_SIDES for length in longest]
    scale = width / sum(needed)
    return [column * (scale if scale < 1 else min(scale, 1.8)) for column in needed]


def row_heights(table: SlideTable, size: float, width: float) -> list[float]:
    widths = column_widths(table, size, width)
    return [
        max(wrapped_lines(_plain(cell), size, column - _CELL_SIDES) for cell, column in zip(row, widths, strict=False))
        * size
        * LINE_HEIGHT
        + 2 * _CELL_PADDING
        for row in table.rows
    ]


def wrapped_lines(text: str, size: float, width: float) -> int:
    """Return the estimated number of lines of a text."""
    count = 0
    for line in text.split("\n"):
        used, count = 0.0, count + 1
        for word in line.split(" "):
            length = text_width(word + " ", size)
            if used and used + length > width:
                used, count = 0.0, count + 1
            count += int(length // max(width, 1))
            used += length % max(width, 1)
    return count


def text_width(text: str, size: float) -> float:
    """Return the estimated width in a sans-serif font, rather too large than too small."""
    return size * sum(map(_character_width, text))


def _character_width(character: str) -> float:
    if character in _NARROW:
        return 0.32
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in _WIDE:
        return 0.92
    return 0.7 if character.isupper() else 0.56


def _areas(blocks: Sequence[Block], picture_size: tuple[float, float] | None) -> tuple[Box, Box | None]:
    """Return the areas of text and picture: side by side, or the picture below, where it is larger."""
    if not picture_size:
        return BODY, None
    if not blocks:
        return BODY, BODY
    half = (BODY.width - _GAP) * 0.46
    left, width = BODY.left + half + 2 * _GAP, BODY.width - half - 2 * _GAP
    beside = Box(left=left, top=BODY.top, width=width, height=BODY.height)
    height = _height(blocks, 20, BODY.width) + _GAP
    below = Box(left=BODY.left, top=BODY.top + height, width=BODY.width, height=max(BODY.height - height, 1))
    if _contained(picture_size, below).width > _contained(picture_size, beside).width:
        return Box(left=BODY.left, top=BODY.top, width=BODY.width, height=height - _GAP), below
    return Box(left=BODY.left, top=BODY.top, width=half, height=BODY.height), beside


def _contained(size: tuple[float, float], area: Box) -> Box:
    """Return the largest box of these proportions in the middle of an area."""
    scale = min(area.width / size[0], area.height / size[1])
    width, height = size[0] * scale, size[1] * scale
    return Box(
        left=area.left + (area.width - width) / 2,
        top=area.top + (area.height - height) / 2,
        width=width,
        height=height,
    )


def _groups(blocks: Sequence[Block]) -> Iterator[tuple[Block, ...]]:
    def kind(indexed: tuple[int, Block]) -> str:
        index, block = indexed
        if isinstance(block, SlideTable):
            return f"table {index}"
        return block.kind if block.kind in ("code", "quote") else "text"

    for _, group in groupby(enumerate(blocks), kind):
        yield tuple(block for _, block in group)


def _placed(blocks: Sequence[Block], size: int, area: Box) -> Iterator[PlacedGroup]:
    top = area.top
    for group in _groups(blocks):
        height = sum(_heights(group, size, area.width))
        yield PlacedGroup(box=Box(left=area.left, top=top, width=area.width, height=height), blocks=group)
        top += height + _GAP


def _heights(group: Sequence[Block], size: int, width: float) -> list[float]:
    heights: list[float] = []
    for block in group:
        if isinstance(block, SlideTable):
            heights += row_heights(block, size, width)
        elif block.kind == "code":
            lines = max(1, -(-len(block.text) * 0.6 * size * CODE_SIZE // max(width - 2 * CODE_PADDING, 1)))
            heights.append(lines * size * CODE_SIZE * LINE_HEIGHT)
        else:
            letters = size * HEADING_SIZE if block.kind == "heading" else size
            indent = INDENT * size * (block.level + (block.has_bullet or block.number is not None))
            quote = 2 * CODE_PADDING if block.kind == "quote" else 0
            lines = wrapped_lines(block.text, letters, width - indent - quote)
            heights.append(lines * letters * LINE_HEIGHT + size * _SPACING)
    if isinstance(group[0], SlideLine) and group[0].kind == "code":
        heights[0] += CODE_PADDING
        heights[-1] += CODE_PADDING
    return heights


def _bottoms(blocks: Sequence[Block], size: int, width: float) -> list[float]:
    bottoms, top = [], 0.0
    for group in _groups(blocks):
        for height in _heights(group, size, width):
            top += height
            bottoms.append(top)
        top += _GAP
    return bottoms


def _height(blocks: Sequence[Block], size: int, width: float) -> float:
    return max(_bottoms(blocks, size, width), default=0)


def _plain(runs: Sequence[TextRun]) -> str:
    return "".join(run.text for run in runs)

"""A slide's chart, and its drawing as SVG. PowerPoint files get a native chart of the same numbers."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import accumulate

PROPORTIONS = (640, 400)
COLOURS = ("2563A8", "E08A1E", "3A9468", "B8455A", "7A5BA6", "5C7080")
_WIDTH, _HEIGHT = PROPORTIONS
_TOP, _RIGHT, _BOTTOM = 46, 20, 36
_MAX_LABELLED = 12  # bars with their values
_TICKS = 5
_FONT = "font-family=\"Arial, 'Liberation Sans', Helvetica, 'DejaVu Sans', sans-serif\""


@dataclass(frozen=True, kw_only=True)
class ChartSeries:
    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A bar (lying), column, line or pie chart. A pie shows the first series."""

    type: str
    categories: tuple[str, ...]
    series: tuple[ChartSeries, ...]

    @property
    def has_labels(self) -> bool:
        return self.type != "line" and len(self.categories) * len(self.series) <= _MAX_LABELLED

    @property
    def has_legend(self) -> bool:
        return self.type == "pie" or len(self.series) > 1 or bool(self.series[0].name)


def svg(chart: Chart) -> str:
    """Return the chart as an SVG element."""
    names = chart.categories if chart.type == "pie" else tuple(series.name for series in chart.series)
    draw = {"pie": _pie, "bar": _bars, "column": _columns, "line": _columns}[chart.type]
    parts = [*(_legend(names) if chart.has_legend else ()), *draw(chart)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-size="14" {_FONT} '
        f'fill="#1B2430" role="img">{"".join(parts)}</svg>'
    )


def number(value: float) -> str:
    """Return a number as people write it, without a needless fraction."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.6g}" if abs(value) < 1000 else f"{value:,.1f}"


def _colour(index: int) -> str:
    return f"#{COLOURS[index % len(COLOURS)]}"


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _rectangle(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def _grid_line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#D5DAE1"/>'


def _legend(names: tuple[str, ...]) -> Iterator[str]:
    x = 10.0
    for index, name in enumerate(names):
        yield _rectangle(x, 12, 12, 12, _colour(index))
        yield _text(x + 18, 23, name, "start")
        x += 34 + 8 * len(name)


def _ticks(chart: Chart) -> list[float]:
    """Return round numbers around all values and zero."""
    values = [value for series in chart.series for value in series.values]
    low, high = min(0.0, *values), max(0.0, *values)
    rough = (high - low) / _TICKS or 1
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= rough * 0.999)
    return [index * step for index in range(math.floor(low / step), math.ceil(high / step) + 1)]


def _columns(chart: Chart) -> Iterator[str]:
    """Draw columns, or lines, over the categories."""
    ticks = _ticks(chart)
    left = 20 + 8 * max(len(number(tick)) for tick in ticks)
    width, height = _WIDTH - left - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    y_of = {}
    for tick in ticks:
        y_of[tick] = _TOP + height * (ticks[-1] - tick) / (ticks[-1] - ticks[0])
        yield _grid_line(left, y_of[tick], _WIDTH - _RIGHT, y_of[tick])
        yield _text(left - 8, y_of[tick] + 5, number(tick), "end")
    slot = width / len(chart.categories)
    every = max(1, math.ceil(max(8 * len(name) + 6 for name in chart.categories) / slot))
    for index, name in enumerate(chart.categories[::every]):
        yield _text(left + slot * (index * every + 0.5), _HEIGHT - 14, name)
    scale, zero = height / (ticks[-1] - ticks[0]), y_of[0]
    for row, series in enumerate(chart.series):
        points = [(left + slot * (index + 0.5), zero - value * scale) for index, value in enumerate(series.values)]
        if chart.type == "line":
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            yield f'<polyline points="{path}" fill="none" stroke="{_colour(row)}" stroke-width="3"/>'
            yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{_colour(row)}"/>' for x, y in points)
            continue
        bar = slot * 0.7 / len(chart.series)
        for (x, y), value in zip(points, series.values, strict=True):
            begin = x - slot * 0.35 + bar * row
            yield _rectangle(begin, min(y, zero), bar, abs(zero - y), _colour(row))
            if chart.has_labels:
                yield _text(begin + bar / 2, min(y, zero) - 5, number(value))


def _bars(chart: Chart) -> Iterator[str]:
    """Draw lying bars, the first category on top."""
    ticks = _ticks(chart)
    left = min(20 + 8 * max(map(len, chart.categories)), _WIDTH * 0.4)
    width, height = _WIDTH - left - _RIGHT - 50, _HEIGHT - _TOP - _BOTTOM
    scale = width / (ticks[-1] - ticks[0])
    zero = left - ticks[0] * scale
    for tick in ticks:
        yield _grid_line(zero + tick * scale, _TOP, zero + tick * scale, _HEIGHT - _BOTTOM)
        yield _text(zero + tick * scale, _HEIGHT - 14, number(tick))
    slot = height / len(chart.categories)
    bar = slot * 0.7 / len(chart.series)
    for index, name in enumerate(chart.categories):
        yield _text(left - 8, _TOP + slot * (index + 0.5) + 5, name, "end")
        for row, series in enumerate(chart.series):
            length, y = series.values[index] * scale, _TOP + slot * (index + 0.15) + bar * row
            yield _rectangle(min(zero, zero + length), y, abs(length), bar, _colour(row))
            if chart.has_labels:
                yield _text(max(zero, zero + length) + 6, y + bar / 2 + 5, number(series.values[index]), "start")


def _pie(chart: Chart) -> Iterator[str]:
    values = chart.series[0].values
    total = sum(values)
    x, y, radius = _WIDTH / 2, _HEIGHT / 2 + 14, 140
    ends = list(accumulate(value / total for value in values))
    for index, (value, end) in enumerate(zip(values, ends, strict=True)):
        begin = end - value / total
        (x1, y1), (x2, y2), (x3, y3) = (
            (x + r * math.sin(share * math.tau), y - r * math.cos(share * math.tau))
            for share, r in ((begin, radius), (min(end, begin + 0.99999), radius), ((begin + end) / 2, radius * 1.2))
        )
        large = int(end - begin > 0.5)
        yield (
            f'<path d="M{x},{y} L{x1:.2f},{y1:.2f} A{radius},{radius} 0 {large} 1 {x2:.2f},{y2:.2f} Z" '
            f'fill="{_colour(index)}" stroke="#fff" stroke-width="2"/>'
        )
        yield _text(x3, y3 + 5, f"{number(value)} ({value / total:.0%})")

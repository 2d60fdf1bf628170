"""Charts as tables of their figures (ISO 29500-1, 21.2), and SmartArt diagrams as nested points (21.4)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tools_app.documents import formats
from tools_app.documents.document import DocumentParseError, row
from tools_app.documents.office.package import Package
from tools_app.documents.opendocument import Element, attribute, local_name

_MAX_POINTS = 10_000  # of a series
_SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, kw_only=True)
class _Series:
    """A series of a chart: its name, the names of its columns, and a value of each column by index."""

    name: str
    categories: dict[int, str]
    columns: Sequence[dict[int, str]]


def chart_lines(package: Package, path: str) -> Iterator[str]:
    """Yield the title, and a row for each category with a column for each series."""
    root = package.xml(path)
    if root is None:
        yield "Chart: missing"
        return
    title = root.find(".//{*}chart/{*}title")
    yield f"Chart: {_words(title)}".strip()
    if axes := [text for axis in root.iterfind(".//{*}plotArea/*/{*}title") if (text := _words(axis))]:
        yield f"Axes: {'; '.join(axes)}"
    epoch = root.find("{*}date1904")
    has_1904 = epoch is not None and epoch.get("val", "1") in ("1", "true")
    all_series = [_series(element, has_1904=has_1904) for element in root.iterfind(".//{*}plotArea/*/{*}ser")]
    all_series += _extended_series(root)
    if not any(series.categories or any(series.columns) for series in all_series):
        yield from _workbook(package, path)
        return
    tables: defaultdict[tuple[tuple[int, str], ...], list[_Series]] = defaultdict(list)
    for series in all_series:
        tables[tuple(series.categories.items())].append(series)
    for categories, members in tables.items():
        columns = [(member.name if number == 0 else f"{member.name} (size)", values)
                   for member in members for number, values in enumerate(member.columns)]  # fmt: skip
        yield row(["", *(name for name, _ in columns)])
        names = dict(categories)
        for index in sorted({*names, *(index for _, values in columns for index in values)})[:_MAX_POINTS]:
            yield row([names.get(index, ""), *(values.get(index, "") for _, values in columns)])
    labels = [text for label in root.iterfind(".//{*}dLbl/{*}tx") if (text := _words(label))]
    if labels:
        yield f"Labels: {'; '.join(labels)}"


def _words(element: Element | None) -> str:
    if element is None:
        return ""
    texts = [*element.itertext("{*}t"), *element.itertext("{*}v")]
    return " ".join("".join(texts).split())


def _series(element: Element, *, has_1904: bool) -> _Series:
    categories = element.find("{*}cat") if element.find("{*}cat") is not None else element.find("{*}xVal")
    columns = [found for name in ("val", "yVal", "bubbleSize") if (found := element.find(f"{{*}}{name}")) is not None]
    return _Series(
        name=_words(element.find("{*}tx")),
        categories=_categories(categories, has_1904=has_1904) if categories is not None else {},
        columns=[_points(column) for column in columns],
    )


def _points(element: Element) -> dict[int, str]:
    """Return the values by index. Numbers lose the digits that binary fractions add."""
    return {int(point.get("idx", 0)): _short(_words(point)) for point in element.iter("{*}pt")}


def _short(value: str) -> str:
    try:
        return f"{float(value):.15g}"
    except ValueError:
        return value


def _categories(element: Element, *, has_1904: bool) -> dict[int, str]:
    """Return the categories by index: several levels from the outermost, and dates as dates."""
    levels = list(element.iter("{*}lvl"))
    if levels:
        names = [{int(point.get("idx", 0)): _words(point) for point in level.iter("{*}pt")} for level in levels]
        return {index: ", ".join(_last(level, index) for level in reversed(names)) for index in names[0]}
    points = _points(element) if element.find(".//{*}numCache") is not None else {
        int(point.get("idx", 0)): _words(point) for point in element.iter("{*}pt")
    }  # fmt: skip
    if _is_date(element.findtext(".//{*}formatCode") or ""):
        start = datetime(1904, 1, 1) if has_1904 else datetime(1899, 12, 30)
        return {index: _date(value, start) for index, value in points.items()}
    return points


def _is_date(code: str) -> bool:
    """Return whether a format has days or years, outside of its quoted texts and of [colours]."""
    plain = "".join(code.lower().split('"')[::2])
    first, *others = plain.split("[")
    plain = first + "".join(other.partition("]")[2] for other in others)
    return "d" in plain or "yy" in plain


def _last(names: dict[int, str], index: int) -> str:
    """Return the name at an index. An outer level has one only where it begins."""
    return next((names[position] for position in range(index, -1, -1) if position in names), "")


def _date(value: str, start: datetime) -> str:
    try:
        day = start + timedelta(seconds=round(float(value) * _SECONDS_PER_DAY))
    except (ValueError, OverflowError):
        return value
    return day.date().isoformat() if day.hour == day.minute == day.second == 0 else day.isoformat(" ")


def _extended_series(root: Element) -> Iterator[_Series]:
    """Yield the series of a chart of Office 2016 ([MS-ODRAWXML] 2.24.3): waterfall, funnel, tree map and others."""
    data = {element.get("id"): element for element in root.iterfind(".//{*}chartData/{*}data")}
    for element in root.iterfind(".//{*}plotAreaRegion/{*}series"):
        reference = element.find("{*}dataId")
        source = data.get(reference.get("val")) if reference is not None else None
        if source is None:
            continue
        texts = [{int(point.get("idx", 0)): _words_of_point(point) for point in level.iter("{*}pt")}
                 for level in source.iterfind("{*}strDim/{*}lvl")]  # fmt: skip
        values = [{int(point.get("idx", 0)): _short(_words_of_point(point)) for point in level.iter("{*}pt")}
                  for level in source.iterfind("{*}numDim/{*}lvl")]  # fmt: skip
        categories = {
            index: ", ".join(_last(level, index) for level in reversed(texts)) for index in (texts or [{}])[0]
        }
        yield _Series(name=_words(element.find("{*}tx")), categories=categories, columns=values)


def _words_of_point(point: Element) -> str:
    return " ".join("".join(point.itertext()).split())


def _workbook(package: Package, path: str) -> Iterator[str]:
    """Yield the sheets of the workbook behind a chart that stores no values."""
    for target in package.related(path, "package"):
        try:
            document = formats.open_document(package.read(target) or b"", target)
        except DocumentParseError:
            continue
        for part in document.parts:
            yield from part.lines


def diagram_lines(package: Package, path: str) -> Iterator[str]:
    """Yield the texts of a diagram as points, each below the one it belongs to."""
    root = package.xml(path)
    yield "Diagram:" if root is not None else "Diagram: missing"
    if root is None:
        return
    points = {point.get("modelId", ""): point for point in root.iter("{*}pt") if point.get("type") != "pres"}
    links = sorted(
        (int(link.get("srcOrd") or 0), link.get("srcId", ""), link.get("destId", ""))
        for link in root.iter("{*}cxn")
        if link.get("type", "parOf") == "parOf"
    )
    children: defaultdict[str, list[str]] = defaultdict(list)
    for _, source, target in links:
        children[source].append(target)
    targets = {target for _, _, target in links}
    waiting = [(key, 0) for key in reversed(points) if key not in targets]
    seen: set[str] = set()
    while waiting:
        key, depth = waiting.pop()
        if key in seen or key not in points:
            continue
        seen.add(key)
        text = _point_text(points[key])
        if text:
            yield f"{'  ' * depth}- {text}"
        waiting += [(child, depth + (1 if text else 0)) for child in reversed(children[key])]
    yield from (f"- {text}" for key, point in points.items() if key not in seen and (text := _point_text(point)))


def _point_text(point: Element) -> str:
    paragraphs = ("".join(paragraph.itertext("{*}t")) for paragraph in point.iter("{*}p"))
    return " ".join(" ".join(paragraphs).split())


def graphic_lines(package: Package, path: str, element: Element) -> list[str] | None:
    """Return the lines of a chart or diagram that an element of the part refers to, or None for another element."""
    name = local_name(element)
    key = attribute(element, "dm") if name == "relIds" else attribute(element, "id") if name == "chart" else ""
    if not key:
        return None
    relationships = package.relationships(path)
    target = relationships[key].target if key in relationships else ""
    if name == "chart":
        return list(chart_lines(package, target))
    lines = list(diagram_lines(package, target))
    data = package.xml(target) if len(lines) == 1 else None
    drawn = data.find(".//{*}dataModelExt") if data is not None else None
    drawing = relationships.get(drawn.get("relId", "")) if drawn is not None else None
    shapes = package.xml(drawing.target) if drawing is not None else None
    if shapes is not None:  # the diagram as it was last drawn ([MS-ODRAWXML] 2.5)
        lines += [f"- {text}" for shape in shapes.iter("{*}sp") if (text := _point_text(shape))]
    return lines

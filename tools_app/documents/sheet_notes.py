"""The words around the cells of a sheet: comments, links, choices, headers, pictures, text boxes, charts, names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from tools_app.documents.archive import WorkbookPackage
from tools_app.documents.document import row
from tools_app.documents.office.package import Relationship
from tools_app.documents.opendocument import Element, attribute, local_name
from tools_app.documents.sheet import column_name

_FORMAT_CODE = re.compile(
    r'&(?:"[^"]*+"|K[0-9A-F]{6}|K\d\d[+-]\d{3}|\d++|[A-Z])', re.IGNORECASE
)  # fonts, colours, sizes and fields in headers and footers
_LINK = re.compile(r'HYPERLINK\(\s*+"([^"]++)"', re.IGNORECASE)
_MAX_POINTS = 50  # of a chart; the cells of a larger one are named
_FROM_THREAD = "[Threaded comment]"  # the beginning of its copy for old programs


def sheet_note(element: Element, relations: Mapping[str, Relationship]) -> Iterator[str]:
    """Yield the lines of a hyperlink, a data validation, or headers and footers."""
    name = local_name(element)
    if name == "hyperlink":
        relation = relations.get(attribute(element, "id"))
        target = "#".join(filter(None, [relation.target if relation else "", element.get("location", "")]))
        tip = element.get("tooltip", "")
        yield f"Link in {element.get('ref')}: {target}{f' ({tip})' if tip else ''}"
    elif name == "dataValidation":
        yield from _validation(element)
    else:
        for child in element:
            if text := " ".join(
                _FORMAT_CODE.sub(" ", (child.text or "").replace("&&", "\0")).replace("\0", "&").split()
            ):
                yield f"{local_name(child)[-6:].capitalize()}: {text}"


def formula_links(cell: str, formula: str) -> Iterator[str]:
    """Yield the addresses in a formula, which its cell does not show."""
    yield from (f"Link in {cell}: {address}" for address in _LINK.findall(formula))


def _validation(element: Element) -> Iterator[str]:
    cells = element.get("sqref") or element.findtext("{*}sqref") or ""
    formula = element.find("{*}formula1")
    text = "".join(formula.itertext()) if formula is not None else ""
    if element.get("type") == "list" and text:
        choices = ", ".join(text.strip('"').split(",")) if text.startswith('"') else text
        yield f"Choices in {cells}: {choices}"
    hints = [element.get(name, "") for name in ("promptTitle", "prompt", "errorTitle", "error")]
    if any(hints):
        yield f"Hint at {cells}: {' / '.join(filter(None, hints))}"


def comments(archive: WorkbookPackage, path: str) -> Iterator[str]:
    """Yield comments and threaded comments (18.7), with their authors."""
    persons = {person.get("id"): person.get("displayName", "") for person in _persons(archive)}
    for part in archive.related(path, "comments"):
        root = archive.xml(part)
        authors = [author.text or "" for author in root.iter("{*}author")] if root is not None else []
        for comment in root.iter("{*}comment") if root is not None else ():
            number = comment.get("authorId", "")
            author = authors[int(number)] if number.isdecimal() and int(number) < len(authors) else ""
            text = " ".join("".join(comment.itertext("{*}t")).split())
            if not text.startswith(_FROM_THREAD):
                yield _comment(comment, author, text.removeprefix(f"{author}:").strip())
    for part in archive.related(path, "threadedComment"):
        root = archive.xml(part)
        for comment in root.iter("{*}threadedComment") if root is not None else ():
            yield _comment(comment, persons.get(comment.get("personId"), ""), comment.findtext("{*}text") or "")


def _persons(archive: WorkbookPackage) -> Iterator[Element]:
    for path in archive.parts("xl/persons/"):
        root = archive.xml(path)
        yield from root.iter("{*}person") if root is not None else ()


def _comment(element: Element, author: str, text: str) -> str:
    return f"Comment on {element.get('ref')}{f' ({author})' if author else ''}: {' '.join(text.split())}"


def tables(archive: WorkbookPackage, path: str) -> Iterator[str]:
    """Yield the names of tables (18.5), which formulas use."""
    for part in archive.related(path, "table"):
        if (root := archive.xml(part)) is not None:
            yield f"Table {root.get('displayName', '')}: {root.get('ref', '')}"


def defined_names(workbook: Element, position: int) -> list[str]:
    """Return the names of cells and constants of the sheet at a position, or of the workbook with its first one."""
    lines = []
    for element in workbook.iterfind("{*}definedNames/{*}definedName"):
        name, comment = element.get("name", ""), element.get("comment", "")
        if name.startswith("_xlnm.") or element.get("localSheetId", "0") != str(position):
            continue
        lines.append(f"Name {name}: {element.text or ''}{f' ({comment})' if comment else ''}")
    return lines


def drawings(archive: WorkbookPackage, path: str) -> Iterator[str]:
    """Yield pictures, text boxes, charts and diagrams of a sheet (20.5)."""
    for part in archive.related(path, "drawing"):
        root, relations = archive.xml(part), archive.relationships(part)
        for element in root.iter("{*}pic", "{*}sp", "{*}graphicFrame") if root is not None else ():
            kind, place = local_name(element), _place(element)
            if kind == "pic":
                properties = element.find(".//{*}cNvPr")
                words = (properties.get("descr") or properties.get("name")) if properties is not None else ""
                yield f"Picture{place}: {words or 'without a name'}"
            elif kind == "sp":
                if text := _text(element):
                    yield f"Text box{place}: {text}"
            else:
                yield from _graphic(archive, element, relations, place)


def _place(element: Element) -> str:
    for anchor in element.iterancestors("{*}oneCellAnchor", "{*}twoCellAnchor"):
        column, row_number = anchor.findtext("{*}from/{*}col") or "", anchor.findtext("{*}from/{*}row") or ""
        if column.isdecimal() and row_number.isdecimal():
            return f" at {column_name(int(column) + 1)}{int(row_number) + 1}"
    return ""


def _text(element: Element) -> str:
    paragraphs = ("".join(paragraph.itertext("{*}t")).strip() for paragraph in element.iter("{*}p"))
    return " ".join(filter(None, paragraphs))


def _graphic(
    archive: WorkbookPackage, frame: Element, relations: Mapping[str, Relationship], place: str
) -> Iterator[str]:
    """Yield a chart, or the words of a diagram."""
    for reference in frame.iter("{*}chart", "{*}relIds"):
        relation = relations.get(attribute(reference, "id") or attribute(reference, "dm"))
        root = archive.xml(relation.target) if relation else None
        if root is None:
            yield f"Chart{place}"
        elif local_name(reference) == "chart":
            yield from _chart(root, place)
        elif text := _text(root):
            yield f"Diagram{place}: {text}"


def _chart(root: Element, place: str) -> Iterator[str]:
    """Yield the titles of a chart (21.2) and its values as a table, or where they are if there are many."""
    kind = next((local_name(element) for element in root.iter() if local_name(element).endswith("Chart")), "")
    titles = [_text(title) or "".join(title.itertext("{*}v")) for title in root.iter("{*}title")]
    words = "; ".join(filter(None, titles))
    yield f"Chart{place}: {words}{' ' if words else ''}({kind.removesuffix('Chart') or 'of a new kind'})"
    table: list[Sequence[str]] = []
    for series in root.iter("{*}ser"):
        name = " ".join(series.find("{*}tx").itertext("{*}v")) if series.find("{*}tx") is not None else ""
        categories = _points(series, "cat", "xVal")
        values = _points(series, "val", "yVal")
        if len(values) > _MAX_POINTS or not values:
            references = ", ".join("".join(element.itertext()) for element in series.iter("{*}f"))
            yield f"- {name}: {len(values):,} values of {references}"
            continue
        if not table:
            table = [["", *categories]]
        table.append([name, *values])
    yield from (row(cells) for cells in zip_longest(*table, fillvalue=""))


def _points(series: Element, *names: str) -> list[str]:
    axes = (child for child in series if local_name(child) in names)
    return [" ".join(point.itertext("{*}v")) for axis in axes for point in axis.iter("{*}pt")]

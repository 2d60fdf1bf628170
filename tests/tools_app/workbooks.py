"""Excel workbooks for tests, written part by part, so that they can have what libraries never write."""

import re
import struct
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from xml.sax.saxutils import escape, quoteattr

Value = str | int | float | bool | None
Cell = Value | tuple[Value, int]  # with the number of its format

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
STRICT = "http://purl.oclc.org/ooxml"
_MAIN_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"


def cells(values: Mapping[str, Cell]) -> str:
    """Return the element sheetData with these values. A text is written in its cell, <f>…</f> and other XML as it is."""
    rows: dict[int, list[str]] = {}
    for reference, cell in values.items():
        value, style = cell if isinstance(cell, tuple) else (cell, 0)
        rows.setdefault(int(re.sub("[A-Z]+", "", reference)), []).append(_cell(reference, value, style))
    lines = (f'<row r="{number}">{"".join(written)}</row>' for number, written in sorted(rows.items()))
    return f"<sheetData>{''.join(lines)}</sheetData>"


def _cell(reference: str, value: Value, style: int) -> str:
    head = f'<c r="{reference}" s="{style}"'
    if value is None:
        return f"{head}/>"
    if isinstance(value, bool):
        return f'{head} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"{head}><v>{value}</v></c>"
    if value.startswith("<"):
        return f"{head}>{value}</c>"
    if value.startswith("#"):
        return f'{head} t="e"><v>{value}</v></c>'
    return f'{head} t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def styles(*formats: str | int, **parts: str) -> str:
    """Return the styles. Cell format N, from 1, has the Nth of these number formats: a code, or a built-in number."""
    codes = [
        f'<numFmt numFmtId="{number}" formatCode={quoteattr(code)}/>'
        for number, code in enumerate(formats, 164)
        if isinstance(code, str)
    ]
    xfs = "".join(
        f'<xf numFmtId="{number if isinstance(code, str) else code}" fontId="0" fillId="0" borderId="0"/>'
        for number, code in enumerate(formats, 164)
    )
    defaults = {
        "fonts": '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>',
        "fills": '<fills count="1"><fill><patternFill patternType="none"/></fill></fills>',
        "borders": '<borders count="1"><border/></borders>',
        "more": "",
    } | parts
    return (
        f'<styleSheet xmlns="{MAIN}"><numFmts count="{len(codes)}">{"".join(codes)}</numFmts>'
        f"{defaults['fonts']}{defaults['fills']}{defaults['borders']}"
        '<cellStyleXfs count="1"><xf numFmtId="0"/></cellStyleXfs>'
        f'<cellXfs><xf numFmtId="0"/>{xfs}</cellXfs>{defaults["more"]}</styleSheet>'
    )


def shared_strings(*items: str) -> str:
    return f'<sst xmlns="{MAIN}">{"".join(f"<si>{item}</si>" for item in items)}</sst>'


def relations(*entries: tuple[str, str], base: str = RELATIONS) -> str:
    """Return relationships rId1, rId2 … of a type to a target. Targets with a colon are external."""
    external = ' TargetMode="External"'
    lines = "".join(
        f'<Relationship Id="rId{number}" Type="{base}/{kind}" Target={quoteattr(target)}'
        f"{external if ':' in target else ''}/>"
        for number, (kind, target) in enumerate(entries, 1)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{lines}</Relationships>'


def xlsx(
    sheets: Mapping[str, str],
    *,
    parts: Mapping[str, str | bytes | None] | None = None,
    states: Mapping[str, str] | None = None,
    workbook: str = "",
    properties: str = "",
    main: str = MAIN,
    base: str = RELATIONS,
    content_type: str = _MAIN_TYPE,
) -> bytes:
    """Return a workbook. `sheets` are the contents of elements worksheet by name, or complete XML. `parts` add and
    replace entries of the archive, or remove them with None. `workbook` is XML after the sheets.
    """
    listed = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{number}" state="{(states or {}).get(name, "visible")}" r:id="rId{number}"/>'
        for number, name in enumerate(sheets, 1)
    )
    entries: dict[str, str | bytes | None] = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
        f'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{content_type}"/></Types>',
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml"), base=base),
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{base}">{properties}<sheets>{listed}</sheets>{workbook}</workbook>',
        "xl/_rels/workbook.xml.rels": relations(
            *(("worksheet", f"worksheets/sheet{number}.xml") for number in range(1, len(sheets) + 1)),
            ("styles", "styles.xml"),
            *([("sharedStrings", "sharedStrings.xml")] if "xl/sharedStrings.xml" in (parts or {}) else []),
            base=base,
        ),
        "xl/styles.xml": styles(),
    }
    for number, content in enumerate(sheets.values(), 1):
        is_complete = "<worksheet" in content or ":worksheet" in content
        entries[f"xl/worksheets/sheet{number}.xml"] = (
            content if is_complete else f'<worksheet xmlns="{main}" xmlns:r="{base}">{content}</worksheet>'
        )
    entries |= parts or {}
    return package(entries)


def package(entries: Mapping[str, str | bytes | None]) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            if content is not None:
                archive.writestr(name, content)
    return out.getvalue()


def edited(data: bytes, name: str, old: str, new: str) -> bytes:
    """Return the archive with a text of an entry replaced.

    Raises: AssertionError if the text does not occur.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        entries: dict[str, str | bytes | None] = {entry: archive.read(entry) for entry in archive.namelist()}
    before = entries[name]
    assert isinstance(before, bytes)
    after = before.replace(old.encode(), new.encode())
    assert after != before, f"{old} is not in {name}"
    return package(entries | {name: after})


def renamed(data: bytes, old: str, new: str) -> bytes:
    """Return the archive with a text in the names of its entries replaced."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return package({entry.replace(old, new): archive.read(entry) for entry in archive.namelist()})


def drawing(*anchored: str) -> str:
    """Return a drawing with these elements, anchored at C5."""
    anchors = "".join(
        f"<xdr:oneCellAnchor><xdr:from><xdr:col>2</xdr:col><xdr:row>4</xdr:row></xdr:from>{element}<xdr:clientData/>"
        "</xdr:oneCellAnchor>"
        for element in anchored
    )
    return (
        f'<xdr:wsDr xmlns:xdr="{DRAWING}/spreadsheetDrawing" xmlns:a="{DRAWING}/main" xmlns:c="{DRAWING}/chart" '
        f'xmlns:r="{RELATIONS}">{anchors}</xdr:wsDr>'
    )


def chart(title: str, series: str, axis: str = "") -> str:
    """Return a bar chart with one series of the values 3 and 4.5 for May and June."""
    text = "<c:tx><c:rich><a:p><a:r><a:t>{}</a:t></a:r></a:p></c:rich></c:tx>"
    return (
        f'<c:chartSpace xmlns:c="{DRAWING}/chart" xmlns:a="{DRAWING}/main"><c:chart><c:title>{text.format(title)}</c:title>'
        "<c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:f>S!$B$1</c:f><c:strCache><c:pt idx='0'><c:v>"
        f"{series}</c:v></c:pt></c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:f>S!$A$2:$A$3</c:f><c:strCache>"
        "<c:pt idx='0'><c:v>May</c:v></c:pt><c:pt idx='1'><c:v>June</c:v></c:pt></c:strCache></c:strRef></c:cat>"
        "<c:val><c:numRef><c:f>S!$B$2:$B$3</c:f><c:numCache><c:pt idx='0'><c:v>3</c:v></c:pt><c:pt idx='1'><c:v>4.5"
        "</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:barChart>"
        f"<c:valAx><c:title>{text.format(axis)}</c:title></c:valAx></c:plotArea></c:chart></c:chartSpace>"
    )


def _record(number: int, data: bytes = b"") -> bytes:
    """Return a record of a binary workbook ([MS-XLSB] 2.1.4)."""
    head = bytes([number]) if number < 128 else bytes([number & 0x7F | 0x80, number >> 7])
    size, rest = bytearray(), len(data)
    while rest > 127:
        size.append(rest & 0x7F | 0x80)
        rest >>= 7
    return head + bytes([*size, rest]) + data


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def _binary_cell(column: int, value: Value, style: int) -> bytes:
    head = struct.pack("<II", column, style)
    if isinstance(value, bool):
        return _record(4, head + bytes([value]))
    if isinstance(value, int):  # RkNumber of an integer
        return _record(2, head + struct.pack("<i", value << 2 | 2))
    if isinstance(value, float):
        return _record(5, head + struct.pack("<d", value))
    if value == "#N/A":
        return _record(3, head + b"\x2a")
    return _record(7, head + struct.pack("<I", 0)) if value == "shared" else _record(6, head + _wide(str(value)))


def xlsb(rows: Sequence[Sequence[Value | tuple[Value, int]]], *formats: str | int) -> bytes:
    """Return a binary workbook with a sheet named Data, whose second row and column are hidden, and A1:B1 are merged.

    The text "shared" is the first shared string.
    """
    sheet = _record(129) + _record(60, struct.pack("<IIIIH", 1, 1, 2560, 0, 1)) + _record(145)
    for number, row in enumerate(rows):
        flags = 0x10 if number == 1 else 0
        sheet += _record(0, struct.pack("<IIHHBI", number, 0, 300, flags << 8, 0, 0))
        for column, cell in enumerate(row):
            value, style = cell if isinstance(cell, tuple) else (cell, 0)
            sheet += _binary_cell(column, value, style)
    sheet += _record(146) + _record(177, struct.pack("<I", 1)) + _record(176, struct.pack("<IIII", 0, 0, 0, 1))
    sheet += _record(178) + _record(130)
    formatted = b"".join(
        _record(44, struct.pack("<H", number) + _wide(code))
        for number, code in enumerate(formats, 164)
        if isinstance(code, str)
    )
    xfs = b"".join(
        _record(47, struct.pack("<HH", 0, number if isinstance(code, str) else code) + bytes(12))
        for number, code in enumerate(["General", *formats], 163)
    )
    xfs = xfs.replace(struct.pack("<HH", 0, 163), bytes(4), 1)
    return package(
        {
            "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Override PartName="/xl/workbook.bin" '
            'ContentType="application/vnd.ms-excel.sheet.binary.macroEnabled.main"/></Types>',
            "_rels/.rels": relations(("officeDocument", "xl/workbook.bin")),
            "xl/workbook.bin": _record(131)
            + _record(153, bytes(12))
            + _record(156, struct.pack("<II", 0, 1) + _wide("rId1") + _wide("Data"))
            + _record(132),
            "xl/_rels/workbook.bin.rels": relations(
                ("worksheet", "worksheets/sheet1.bin"), ("styles", "styles.bin"), ("sharedStrings", "sharedStrings.bin")
            ),
            "xl/worksheets/sheet1.bin": sheet,
            "xl/styles.bin": _record(278)
            + _record(615, bytes(4))
            + formatted
            + _record(616)
            + _record(617, bytes(4))
            + xfs
            + _record(618)
            + _record(279),
            "xl/sharedStrings.bin": _record(159, bytes(8)) + _record(19, b"\0" + _wide("shared words")) + _record(160),
        }
    )

"""Tests that the Excel reader loses nothing: every cell as Excel shows it, and what is around the cells."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.tools_app import workbooks
from tests.tools_app.workbooks import DRAWING, MAIN, PACKAGE, RELATIONS, STRICT, Cell, cells, relations, styles, xlsx
from tools_app.documents.child import answer

LEGACY = (Path(__file__).parent / "files/legacy.xls").read_bytes()


@dataclass(frozen=True, kw_only=True)
class Case:
    """A workbook, the expected texts of cells of its first sheet, and of its lines."""

    data: bytes
    cells: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()


def read(data: bytes, **request: object) -> str:
    asked = {"name": "a.xlsx", "part": 1, "line": 1, "room": 2_000_000}
    said = answer(asked | request, data)
    assert "error" not in said, said
    return "\n".join("\n".join([f"--- {part['title']} ---", *part["lines"]]) for part in said["parts"])


def cells_of(text: str) -> dict[str, str]:
    """Return the texts of the cells of the first sheet."""
    columns: list[str] = []
    found = {}
    for line in text.partition("\n--- ")[0].split("\n"):
        if not line.startswith("| "):
            continue
        first, *others = line[2:-2].split(" | ")
        if first in ("", " "):
            columns = [name.removesuffix(" (hidden)") for name in others]
        else:
            row = first.removesuffix(" (hidden)")
            found |= {f"{column}{row}": text for column, text in zip(columns, others, strict=False) if text}
    return found


def formatted(values: Sequence[tuple[str | int, Cell, str]], properties: str = "") -> Case:
    """Return a workbook with a value in each format, in column A, and the expected texts."""
    return Case(
        data=xlsx(
            {"S": cells({f"A{row}": (value, row) for row, (_, value, _) in enumerate(values, 1)})},  # type: ignore[misc]
            parts={"xl/styles.xml": styles(*(code for code, _, _ in values))},
            properties=properties,
        ),
        cells={f"A{row}": text for row, (_, _, text) in enumerate(values, 1)},
    )


AMOUNTS = {"A1": "name", "B1": "amount", "A2": "Ann", "B2": 12}
KEPT = {"A1": "name", "B1": "amount", "A2": "Ann", "B2": "12"}
CORE = (
    f'<cp:coreProperties xmlns:cp="{PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>Wages</dc:title><dcterms:created>{}</dcterms:created></cp:coreProperties>'
)
CELLS_ONLY = cells(AMOUNTS)  # type: ignore[arg-type]
STRINGS = workbooks.shared_strings(
    "<t>plain</t>",
    "<r><rPr><b/></rPr><t>bold</t></r><r><t xml:space='preserve'> and not</t></r>",
    "<t>東京</t><rPh sb='0' eb='2'><t>トウキョウ</t></rPh><phoneticPr fontId='1'/>",
    "<t>two_x000D_\nlines and _x0041_ and _x005F_x0042_</t>",
    "",
    "<t xml:space='preserve'>  spaces  </t>",
)
SHARED = {f"A{row}": f"<v>{row - 1}</v>" for row in range(1, 7)}
COMMENTS = (
    f'<comments xmlns="{MAIN}"><authors><author>Ada</author><author>Bob</author></authors><commentList>'
    '<comment ref="A2" authorId="0"><text><r><t>Ada:</t></r><r><t>\nnot paid</t></r></text></comment>'
    '<comment ref="B2" authorId="1"><text><t>twelve?</t></text></comment>'
    '<comment ref="B1" authorId="1"><text><t>[Threaded comment] Your version of Excel allows you to read this.</t></text>'
    "</comment></commentList></comments>"
)
THREADED = (
    '<ThreadedComments xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments">'
    '<threadedComment ref="B1" personId="{P1}" id="{1}"><text>Net or gross?</text></threadedComment>'
    '<threadedComment ref="B1" personId="{P2}" id="{2}" parentId="{1}"><text>Net</text></threadedComment></ThreadedComments>'
)
PERSONS = (
    '<personList xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments">'
    '<person displayName="Ada L." id="{P1}"/><person displayName="Bob" id="{P2}"/></personList>'
)
ANNOTATED = xlsx(
    {"S": CELLS_ONLY},
    parts={
        "xl/worksheets/_rels/sheet1.xml.rels": relations(
            ("comments", "../comments1.xml"), ("threadedComment", "../threadedComments/t1.xml")
        ),
        "xl/comments1.xml": COMMENTS,
        "xl/threadedComments/t1.xml": THREADED,
        "xl/persons/person.xml": PERSONS,
        "xl/_rels/workbook.xml.rels": relations(
            ("worksheet", "worksheets/sheet1.xml"), ("styles", "styles.xml"), ("person", "persons/person.xml")
        ),
    },
)
PICTURE = '<xdr:pic><xdr:nvPicPr><xdr:cNvPr id="2" name="Picture 1" descr="The factory gate"/></xdr:nvPicPr></xdr:pic>'
UNNAMED_PICTURE = '<xdr:pic><xdr:nvPicPr><xdr:cNvPr id="5" name="logo.png"/></xdr:nvPicPr></xdr:pic>'
TEXT_BOX = (
    '<xdr:sp><xdr:nvSpPr><xdr:cNvPr id="3" name="TextBox 1"/></xdr:nvSpPr><xdr:txBody><a:p><a:r><a:t>Read this</a:t></a:r>'
    "<a:r><a:t> first</a:t></a:r></a:p><a:p><a:r><a:t>then that</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
)
CHART_FRAME = (
    '<xdr:graphicFrame><xdr:nvGraphicFramePr><xdr:cNvPr id="4" name="Chart 1"/></xdr:nvGraphicFramePr><a:graphic>'
    f'<a:graphicData uri="{DRAWING}/chart"><c:chart r:id="rId1"/></a:graphicData></a:graphic></xdr:graphicFrame>'
)
DRAWN = xlsx(
    {"S": f'{CELLS_ONLY}<drawing r:id="rId1"/>'},
    parts={
        "xl/worksheets/_rels/sheet1.xml.rels": relations(("drawing", "../drawings/drawing1.xml")),
        "xl/drawings/drawing1.xml": workbooks.drawing(PICTURE, TEXT_BOX, CHART_FRAME, UNNAMED_PICTURE),
        "xl/drawings/_rels/drawing1.xml.rels": relations(("chart", "../charts/chart1.xml")),
        "xl/charts/chart1.xml": workbooks.chart("Honey sold", "Jars", "in thousands"),
    },
)
CHART_SHEET = xlsx(
    {
        "S": CELLS_ONLY,
        "Graph": f'<chartsheet xmlns="{MAIN}" xmlns:r="{RELATIONS}"><drawing r:id="rId1"/></chartsheet><!-- <worksheet -->',
    },
    parts={
        "xl/_rels/workbook.xml.rels": relations(
            ("worksheet", "worksheets/sheet1.xml"), ("chartsheet", "worksheets/sheet2.xml"), ("styles", "styles.xml")
        ),
        "xl/worksheets/_rels/sheet2.xml.rels": relations(("drawing", "../drawings/drawing1.xml")),
        "xl/drawings/drawing1.xml": workbooks.drawing(CHART_FRAME),
        "xl/drawings/_rels/drawing1.xml.rels": relations(("chart", "../charts/chart1.xml")),
        "xl/charts/chart1.xml": workbooks.chart("Honey sold", "Jars"),
    },
)
PREFIXED = (
    f'<x:worksheet xmlns:x="{MAIN}"><x:cols><x:col min="2" max="2" hidden="1"/></x:cols><x:sheetData><x:row r="1"><x:c r="A1" t="inlineStr"><x:is><x:t>name</x:t></x:is>'
    '</x:c><x:c r="B1"><x:v>12</x:v></x:c></x:row></x:sheetData><x:mergeCells><x:mergeCell ref="C1:D2"/></x:mergeCells></x:worksheet>'
)
NO_REFERENCES = (
    '<sheetData><row><c t="inlineStr"><is><t>name</t></is></c><c t="inlineStr"><is><t>amount</t></is></c></row>'
    '<row><c t="inlineStr"><is><t>Ann</t></is></c><c><v>12</v></c></row></sheetData>'
)
FORMULAS = cells(
    {
        "A1": 2,
        "B1": "<f>A1*2</f><v>4</v>",
        "B2": "<f t='shared' ref='B2:B4' si='0'>A2+1</f>",
        "B3": "<f t='shared' si='0'/>",
        "B4": "<f t='shared' si='0'/><v>1</v>",
        "C1": "<f t='array' ref='C1'>SUM(A1:A3*2)</f><v></v>",
        "D1": "<f>_xlfn.XLOOKUP(1,A:A,B:B)</f><v>5</v>",
    }
)
FORMULA_TEXT = (
    '<sheetData><row r="1"><c r="A1" t="str"><f>"a"&amp;"b"</f><v>ab</v></c><c r="B1" t="e"><f>1/0</f><v>#DIV/0!</v></c>'
    '<c r="C1" t="b"><f>TRUE()</f><v>1</v></c><c r="D1" t="str"><f>""</f><v></v></c></row></sheetData>'
)

CASES = {
    "percent and plain built-in formats": formatted(
        [(9, 0.1234, "12%"), (10, 0.1234, "12.34%"), (1, 2.5, "3"), (2, 2.5, "2.50"), (3, 1234567.4, "1,234,567")]
        + [(4, 1234.5, "1,234.50"), (10, -0.05, "-5.00%"), ("0.0%", 0.26377, "26.4%"), ("0 %", 0.5, "50 %")]
    ),
    "currencies": formatted(
        [
            ("#,##0.00 [$€-407]", 1234.5, "1,234.50 €"),
            ("[$$-409]#,##0.00", 1234.5, "$1,234.50"),
            ('#,##0.00" EUR"', 1234.5, "1,234.50 EUR"),
            ('#,##0.00\\ "€"', 0.5, "0.50 €"),
            ("[$CHF-100C] #,##0.00", -7, "-CHF 7.00"),
            ('_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-', 1234.5, "1,234.50 €"),
            ('_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-', -1, "-1.00 €"),
            ("[$¥-411]#,##0", 1234, "¥1,234"),
            ('"$"#,##0_);[Red]\\("$"#,##0\\)', -1234, "($1,234)"),
            (44, 1234.5, "$1,234.50"),
            (7, -2, "($2.00)"),
        ]
    ),
    "leading zeros and patterns of digits": formatted(
        [
            ("00000", 1067, "01067"),
            ("000-00-0000", 123456789, "123-45-6789"),
            ("(000) 000-0000", 5551234567, "(555) 123-4567"),
            ('"INV-"0000', 42, "INV-0042"),
            ("0000000000000", 4006381333931, "4006381333931"),
            ("00", -5, "-05"),
            ("0.000", 1.5, "1.500"),
            ("#.##", 0.5, ".5"),
            ("0.0#", 2.0, "2.0"),
            ("0.0#", 2.25, "2.25"),
        ]
    ),
    "elapsed time": formatted(
        [
            ("[h]:mm", 1.5, "36:00"),
            ("[h]:mm:ss", 1.0416666666666667, "25:00:00"),
            ("[mm]:ss", 0.0625, "90:00"),
            ("[s]", 0.001, "86"),
            (46, 2.25, "54:00:00"),
            ("[h]:mm", 0.9999999999, "24:00"),
            ("[hh]:mm", 0.041666666666, "01:00"),
        ]
    ),
    "dates in their own formats": formatted(
        [
            ("dd.mm.yyyy", 45992, "01.12.2025"),
            ("d/m/yy", 45992, "1/12/25"),
            ("mmm yyyy", 45992, "Dec 2025"),
            ("mmmm d, yyyy", 45992, "December 1, 2025"),
            ("dddd, d mmmm", 45992, "Monday, 1 December"),
            ("ddd", 45992, "Mon"),
            ("yyyy-mm-dd hh:mm:ss", 45992.5, "2025-12-01 12:00:00"),
            ("h:mm AM/PM", 0.75, "6:00 PM"),
            ("hh:mm:ss.000", 0.5000057870370371, "12:00:00.500"),
            ('yyyy"年"m"月"d"日"', 45992, "2025年12月1日"),
            ("yyyy\\-mm\\-dd\\Thh:mm", 46082.6041666667, "2026-03-01T14:30"),
            (15, 45992, "1-Dec-25"),
            (17, 45992, "Dec-25"),
            (20, 0.75, "18:00"),
            (21, 0.75, "18:00:00"),
            (45, 0.0625, "30:00"),
            ("mmmmm", 45992, "D"),
            ("m/d/yyyy h:mm", 45992.999999, "12/2/2025 0:00"),
            ("[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", 45992, "Monday, December 01, 2025"),
        ]
    ),
    "dates of the locale are ISO dates": formatted(
        [(14, 45992, "2025-12-01"), (22, 45992.5, "2025-12-01 12:00"), (14, 60, "1900-02-29"), (14, 59, "1900-02-28")]
        + [(14, 1, "1900-01-01"), (14, 61, "1900-03-01"), (14, -5, "-5"), (14, 99999999, "99999999")]
    ),
    "names of months in other languages": formatted(
        [
            ("[$-407]d. mmmm yyyy", 45992, "1. Dezember 2025"),
            ("[$-40C]d mmmm yyyy", 45992, "1 décembre 2025"),
            ("[$-407]dddd", 45992, "Montag"),
            ("[$-409]d mmm yyyy", 45992, "1 Dec 2025"),
            ("[$-FFFF]d mmm yyyy", 45992, "1 Dec 2025"),
        ]
    ),
    "dates since 1904": formatted(
        [("yyyy-mm-dd", 44530, "2025-12-01"), (14, 0, "1904-01-01"), ("h:mm", 0.75, "18:00")],
        '<workbookPr date1904="1"/>',
    ),
    "fractions": formatted(
        [
            ("# ?/?", 1.25, "1 1/4"),
            ("# ??/??", 0.3333333333, "1/3"),
            ("# ?/8", 2.5, "2 4/8"),
            ("# ?/?", 3, "3"),
            (12, -0.5, "-1/2"),
            (13, 5.3125, "5 5/16"),
        ]
    ),
    "scientific": formatted(
        [(11, 123456, "1.23E+05"), ("0.00E+00", 0.00012, "1.20E-04"), ("##0.0E+0", 123456, "123.5E+3")]
        + [(48, 12345, "12.3E+3"), ("0E-0", 1500, "2E3")]
    ),
    "text formats": formatted(
        [("@", 12.5, "12.5"), ("@", "007", "007"), ('"Nr. "@', "12", "Nr. 12"), ('0;0;0;"<"@">"', "x", "<x>")]
    ),
    "sections": formatted(
        [
            ("[>=1000]#,##0.0,\\k;0", 1234, "1.2k"),
            ("[>=1000]#,##0.0,\\k;0", 999, "999"),
            ("[Red][<0]0.0;[Blue]0", -2, "-2.0"),
            ('0.00;[Red]-0.00;"none"', 0, "none"),
            ('0.00;(0.00);"none"', -1.5, "(1.50)"),
            ('[=1]"yes";[=0]"no";General', 1, "yes"),
            ('[=1]"yes";[=0]"no";General', 0, "no"),
            ('[=1]"yes";[=0]"no";General', 7, "7"),
            ("[<=9999999]###-####;(###) ###-####", 5551234, "555-1234"),
            ('"a;b" 0', 3, "a;b 3"),
            ('0.0"-";0.0"+"', -3, "3.0+"),
        ]
    ),
    "literals and scales": formatted(
        [
            ('0" pcs"', 5, "5 pcs"),
            ("0 \\k\\g", 5, "5 kg"),
            ("#,##0,", 1234567, "1,235"),
            ('0.0,,"M"', 1234567, "1.2M"),
            ("0.00\\%", 5, "5.00%"),
            ("General", 5, "5"),
            ('General" kg"', 2.5, "2.5 kg"),
            ("0.0_)", 5, "5.0"),
            ("#", 0, ""),
            ("0°", 21, "21°"),
            ("0‰", 3, "3‰"),
        ]
    ),
    "numbers in general format": Case(
        data=xlsx(
            {
                "S": cells(
                    {
                        "A1": "<v>12345678901234567890</v>",
                        "A2": "<v>0.30000000000000004</v>",
                        "A3": "<v>1E+21</v>",
                        "A4": "<v>4111111111111111</v>",
                        "A5": "<v>5.0</v>",
                        "A6": "<v>1.0000000000000001E-5</v>",
                        "A7": "<v>-0.5</v>",
                        "A8": "<v>1.5E-10</v>",
                        "A9": "<v>31125.75</v>",
                        "A10": True,
                        "A11": False,
                    }
                )
            }
        ),
        cells={
            "A1": "12345678901234567890",
            "A2": "0.3",
            "A3": "1E+21",
            "A4": "4111111111111111",
            "A5": "5",
            "A6": "0.00001",
            "A7": "-0.5",
            "A8": "1.5E-10",
            "A9": "31125.75",
            "A10": "TRUE",
            "A11": "FALSE",
        },
    ),
    "values that their format hides": Case(
        data=xlsx(
            {"S": cells({"A1": (42, 1), "A2": ("secret", 1), "A3": (0, 2)})},
            parts={"xl/styles.xml": styles(";;;", "0;-0;;@")},
        ),
        cells={"A1": "42 (hidden by its format)", "A2": "secret (hidden by its format)"},
    ),
    "errors": Case(
        data=xlsx(
            {"S": cells({f"A{row}": text for row, text in enumerate(("#N/A", "#DIV/0!", "#REF!", "#SPILL!"), 1)})}
        ),
        cells={"A1": "#N/A", "A2": "#DIV/0!", "A3": "#REF!", "A4": "#SPILL!"},
    ),
    "formulas": Case(
        data=xlsx({"S": FORMULAS}),
        cells={"B1": "4", "B2": "=A2+1", "B3": "=A3+1", "B4": "1", "C1": "=SUM(A1:A3*2)", "D1": "5"},
        lines=["6 formulas", "3 of them without a stored value, shown as formulas", 'view="source"'],
    ),
    "formulas with other values": Case(
        data=xlsx({"S": FORMULA_TEXT}), cells={"A1": "ab", "B1": "#DIV/0!", "C1": "TRUE"}, lines=["4 formulas"]
    ),
    "shared strings": Case(
        data=xlsx(
            {"S": re.sub(r'(r="A\d" s="0")', r'\1 t="s"', cells(SHARED))}, parts={"xl/sharedStrings.xml": STRINGS}
        ),
        cells={
            "A1": "plain",
            "A2": "bold and not",
            "A3": "東京",
            "A4": "two lines and A and _x0042_",
            "A6": "spaces",
        },
    ),
    "rich text in a cell": Case(
        data=xlsx(
            {
                "S": '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><r><t>bold</t></r><r><t xml:space="preserve"> and not</t></r>'
                "<rPh sb='0' eb='1'><t>read</t></rPh></is></c><c r='B1' t='str'><v>text</v></c><c r='C1' t='inlineStr'><is><t><![CDATA[a<b]]></t></is></c></row></sheetData>"
            }
        ),
        cells={"A1": "bold and not", "B1": "text", "C1": "a<b"},
    ),
    "no shared strings": Case(
        data=xlsx({"S": '<sheetData><row r="1"><c r="A1" t="s"><v>3</v></c><c r="B1"><v>7</v></c></row></sheetData>'}),
        cells={"B1": "7"},
        lines=["missing text"],
    ),
    "no styles": Case(
        data=xlsx({"S": cells({"A1": (12, 3), "B1": "words"})}, parts={"xl/styles.xml": None}),
        cells={"A1": "12", "B1": "words"},
    ),
    "a format that does not exist": Case(data=xlsx({"S": cells({"A1": (12.5, 77)})}), cells={"A1": "12.5"}),
    "cells and rows without references": Case(data=xlsx({"S": NO_REFERENCES}), cells=KEPT),
    "prefixed elements": Case(
        data=xlsx({"S": PREFIXED}), cells={"A1": "name", "B1": "12"}, lines=["B (hidden)", "C1:D2 merged"]
    ),
    "strict": Case(
        data=xlsx(
            {
                "S": f'<worksheet xmlns="{STRICT}/spreadsheetml/main"><sheetData><row r="1"><c r="A1" t="d" s="1">'
                '<v>2025-12-01T00:00:00</v></c><c r="B1" t="d" s="2"><v>2025-12-01T18:30:00</v></c><c r="C1" t="d" s="3"><v>18:30:00</v></c>'
                '<c r="D1" t="inlineStr"><is><t>words</t></is></c></row></sheetData></worksheet>'
            },
            main=f"{STRICT}/spreadsheetml/main",
            base=f"{STRICT}/officeDocument/relationships",
            parts={
                "xl/styles.xml": styles("d mmm yyyy", "yyyy-mm-dd hh:mm", "h:mm AM/PM").replace(
                    MAIN, f"{STRICT}/spreadsheetml/main"
                )
            },
        ),
        cells={"A1": "1 Dec 2025", "B1": "2025-12-01 18:30", "C1": "6:30 PM", "D1": "words"},
    ),
    "backslashes in names": Case(data=workbooks.renamed(xlsx({"S": CELLS_ONLY}), "/", "\\"), cells=KEPT),
    "names in other letters": Case(
        data=workbooks.renamed(
            xlsx(
                {"S": '<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row></sheetData>'},
                parts={"xl/sharedStrings.xml": workbooks.shared_strings("<t>words</t>")},
            ),
            "sharedStrings",
            "SharedStrings",
        ),
        cells={"A1": "words"},
    ),
    "a workbook at another place": Case(
        data=workbooks.package(
            {
                "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Override PartName="/book/w.xml" ContentType='
                '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
                "_rels/.rels": relations(("officeDocument", "/book/w.xml")),
                "book/w.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>',
                "book/_rels/w.xml.rels": relations(("worksheet", "/book/one.xml")),
                "book/one.xml": f'<worksheet xmlns="{MAIN}">{CELLS_ONLY}</worksheet>',
            }
        ),
        cells=KEPT,
    ),
    "an empty fill": Case(
        data=xlsx(
            {"S": CELLS_ONLY},
            parts={
                "xl/styles.xml": styles(
                    fills='<fills count="2"><fill/><fill><patternFill patternType="odd"/></fill></fills>'
                )
            },
        ),
        cells=KEPT,
    ),
    "an odd font": Case(
        data=xlsx(
            {"S": CELLS_ONLY},
            parts={
                "xl/styles.xml": styles(
                    fonts='<fonts><font><sz val="x"/><family val="34"/><u val="wavy"/><color rgb="red"/></font></fonts>',
                    borders='<borders><border><left style="odd"/></border></borders>',
                    more='<dxfs><dxf><font><family val="99"/></font></dxf></dxfs><cellStyles><cellStyle/></cellStyles>',
                )
            },
        ),
        cells=KEPT,
    ),
    "a custom property without a name": Case(
        data=xlsx(
            {"S": CELLS_ONLY},
            parts={
                "docProps/custom.xml": '<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/custom-properties"><property pid="2"/></Properties>'
            },
        ),
        cells=KEPT,
    ),
    "odd dates in the core properties": Case(
        data=xlsx({"S": CELLS_ONLY}, parts={"docProps/core.xml": CORE.format("yesterday")}), cells=KEPT
    ),
    "core properties that are no XML": Case(
        data=xlsx({"S": CELLS_ONLY}, parts={"docProps/core.xml": "<cp:coreProperties", "xl/theme/theme1.xml": "<a:"}),
        cells=KEPT,
    ),
    "odd views, validations, and formatting by conditions": Case(
        data=xlsx(
            {
                "S": '<sheetPr><tabColor rgb="x"/></sheetPr><sheetViews><sheetView workbookViewId="x" view="odd"/></sheetViews>'
                f'{CELLS_ONLY}<conditionalFormatting sqref="x y"><cfRule type="odd" dxfId="99"/></conditionalFormatting>'
                '<dataValidations><dataValidation type="odd" sqref="B2"/></dataValidations><pageSetup orientation="odd" scale="9999"/>'
                '<autoFilter ref="A1:B2"><filterColumn colId="0"><filters><filter val="x"/></filters></filterColumn></autoFilter>'
            },
            workbook='<definedNames><definedName name="_xlnm.Print_Titles" localSheetId="9">#REF!</definedName></definedNames>',
        ),
        cells=KEPT,
    ),
    "hidden rows, columns and sheets": Case(
        data=xlsx(
            {
                "Plan": '<cols><col min="2" max="3" hidden="1"/><col min="5" max="5" width="0"/></cols>'
                + cells({"A1": "a", "B1": "b", "C1": "c", "D1": "d", "E1": "e", "A2": "below"}).replace(
                    '<row r="2">', '<row r="2" hidden="1">'
                ),
                "Pay": cells({"A1": "secret salary"}),
                "Deep": cells({"A1": "very secret"}),
            },
            states={"Pay": "hidden", "Deep": "veryHidden"},
        ),
        cells={"A1": "a", "B1": "b", "C1": "c", "D1": "d", "E1": "e", "A2": "below"},
        lines=[
            "--- sheet Plan: 2 rows × 5 columns ---",
            "|  | A | B (hidden) | C (hidden) | D | E (hidden) |",
            "| 2 (hidden) | below |",
            "--- sheet Pay (hidden): 1 row × 1 column ---",
            "| 1 | secret salary |",
            "--- sheet Deep (very hidden): 1 row × 1 column ---",
            "| 1 | very secret |",
        ],
    ),
    "merged cells": Case(
        data=xlsx(
            {
                "S": cells({"A1": "Title", "A2": "left", "B2": "right", "A3": "North", "B3": "Q1", "B4": "Q2"})
                + '<mergeCells><mergeCell ref="A1:D1"/><mergeCell ref="A3:A4"/></mergeCells>'
            }
        ),
        cells={"A1": "Title", "A2": "left", "B2": "right", "A3": "North", "B3": "Q1", "B4": "Q2"},
        lines=["A1:D1 merged", "A3:A4 merged", "4 rows × 2 columns"],
    ),
    "a cell in the last corner": Case(
        data=xlsx({"S": cells({"A1": "near", "XFD1048576": "far"})}),
        cells={"A1": "near", "XFD1048576": "far"},
        lines=["1,048,576 rows × 16,384 columns"],
    ),
    "a wide sheet": Case(
        data=xlsx(
            {
                "S": cells(
                    {f"{column}{row}": f"{column}{row}v" for row in (1, 2) for column in ("A", "Z", "AA", "IV", "ZZ")}
                )
            }
        ),
        cells={f"{column}{row}": f"{column}{row}v" for row in (1, 2) for column in ("A", "Z", "AA", "IV", "ZZ")},
    ),
    "wrong dimensions": Case(
        data=xlsx({"S": f'<dimension ref="A1"/>{CELLS_ONLY}'}), cells=KEPT, lines=["2 rows × 2 columns"]
    ),
    "cells of formats only": Case(
        data=xlsx({"S": cells({"A1": "a", "Z1": None, "A2": None, "A900": None})}),
        cells={"A1": "a"},
        lines=["1 row × 1 column"],
    ),
    "an empty sheet": Case(
        data=xlsx({"S": "<sheetData/>", "T": CELLS_ONLY}), lines=["--- sheet S: empty ---", "| 2 | Ann | 12 |"]
    ),
    "comments": Case(
        data=ANNOTATED,
        cells=KEPT,
        lines=[
            "Comment on A2 (Ada): not paid",
            "Comment on B2 (Bob): twelve?",
            "Comment on B1 (Ada L.): Net or gross?",
            "Comment on B1 (Bob): Net",
        ],
    ),
    "links": Case(
        data=xlsx(
            {
                "S": cells(
                    {"A1": "site", "A2": "below", "A3": '<f>HYPERLINK("https://example.org/f","here")</f><v>1</v>'}
                )
                + '<hyperlinks><hyperlink ref="A1" r:id="rId1" tooltip="The maker"/><hyperlink ref="A2" location="Sheet2!A1"/></hyperlinks>'
            },
            parts={"xl/worksheets/_rels/sheet1.xml.rels": relations(("hyperlink", "https://example.org/a?b=1&c=2"))},
        ),
        lines=[
            "Link in A1: https://example.org/a?b=1&c=2 (The maker)",
            "Link in A2: Sheet2!A1",
            "Link in A3: https://example.org/f",
        ],
    ),
    "validations": Case(
        data=xlsx(
            {
                "S": f'{CELLS_ONLY}<dataValidations count="2"><dataValidation type="list" sqref="C2:C50" promptTitle="State" prompt="Choose one"'
                ' error="Only these"><formula1>"open,paid,very late"</formula1></dataValidation><dataValidation type="list" sqref="D2">'
                "<formula1>Lists!$A$1:$A$3</formula1></dataValidation></dataValidations>"
            }
        ),
        cells=KEPT,
        lines=[
            "Choices in C2:C50: open, paid, very late",
            "Choose one",
            "Only these",
            "Choices in D2: Lists!$A$1:$A$3",
        ],
    ),
    "names": Case(
        data=xlsx(
            {"S": CELLS_ONLY},
            workbook='<definedNames><definedName name="VAT_rate">0.19</definedName><definedName name="Staff" comment="all of 2026">S!$A$2:$A$9</definedName>'
            '<definedName name="_xlnm.Print_Area" localSheetId="0">S!$A$1</definedName><definedName name="_xlnm._FilterDatabase" hidden="1">S!$A$1</definedName></definedNames>',
        ),
        lines=["Name VAT_rate: 0.19", "Name Staff: S!$A$2:$A$9 (all of 2026)"],
    ),
    "pictures, text boxes and charts": Case(
        data=DRAWN,
        cells=KEPT,
        lines=[
            "Picture at C5: The factory gate",
            "Picture at C5: logo.png",
            "Text box at C5: Read this first then that",
            "Chart at C5: Honey sold",
            "in thousands",
            "|  | Jars |",
            "| May | 3 |",
            "| June | 4.5 |",
        ],
    ),
    "a sheet of a chart": Case(
        data=CHART_SHEET, cells=KEPT, lines=["--- sheet Graph: a chart ---", "Honey sold", "| June | 4.5 |"]
    ),
    "headers and footers": Case(
        data=xlsx(
            {
                "S": f'{CELLS_ONLY}<headerFooter differentFirst="1"><oddHeader>&amp;L&amp;"Arial,Bold"Norden AG&amp;CPage &amp;P of &amp;N</oddHeader>'
                "<oddFooter>&amp;R&amp;8Confidential &amp;&amp; internal</oddFooter><firstHeader>&amp;CCover</firstHeader></headerFooter>"
            }
        ),
        cells=KEPT,
        lines=["Header: Norden AG Page of", "Footer: Confidential & internal", "Header: Cover"],
    ),
    "macros and templates": Case(
        data=xlsx(
            {"S": CELLS_ONLY},
            content_type="application/vnd.ms-excel.sheet.macroEnabled.main+xml",
            parts={"xl/vbaProject.bin": b"\0"},
        ),
        cells=KEPT,
    ),
    "UTF-16": Case(
        data=xlsx(
            {"S": CELLS_ONLY},
            parts={
                "xl/worksheets/sheet1.xml": f'<?xml version="1.0" encoding="UTF-16"?><worksheet xmlns="{MAIN}">{CELLS_ONLY}</worksheet>'.encode(
                    "utf-16"
                ),
                "xl/workbook.xml": f'\ufeff<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>',
            },
        ),
        cells=KEPT,
    ),
    "texts with bars, lines and 5,000 letters": Case(
        data=xlsx(
            {
                "S": cells(
                    {"A1": "a|b\nsecond line", "B1": "tab\there", "C1": "left | right", "A2": "word " * 1000 + "end"}
                )
            }
        ),
        cells={"A1": "a|b second line", "B1": "tab here"},
        lines=["left ¦ right", "word end"],
    ),
    "cells after a picture in a cell": Case(
        data=xlsx(
            {
                "S": '<sheetData><row r="1"><c r="A1" t="e" vm="1"><v>#VALUE!</v></c><c r="B1"><v>3</v></c></row></sheetData>'
            }
        ),
        cells={"B1": "3"},
    ),
    "another declared encoding": Case(
        data=xlsx(
            {"S": "<sheetData/>"},
            parts={
                "xl/worksheets/sheet1.xml": (
                    f'<?xml version="1.0" encoding="ISO-8859-1"?><worksheet xmlns="{MAIN}">{cells({"A1": "Köln"})}</worksheet>'
                ).encode("latin-1")
            },
        ),
        cells={"A1": "Köln"},
    ),
    "odd numbers": Case(
        data=xlsx(
            {
                "S": cells(
                    {
                        "A1": ("<v>NaN</v>", 1),
                        "A2": ("<v>1E308</v>", 2),
                        "A3": ("<v>1e-300</v>", 1),
                        "A4": ("<v>12x</v>", 1),
                        "B4": "end",
                    }
                )
            },
            parts={"xl/styles.xml": styles("0.00", "0.00E+00")},
        ),
        cells={"A1": "NaN", "A2": "1.00E+308", "A3": "0.00", "A4": "12x", "B4": "end"},
    ),
    "tables and wrong references": Case(
        data=xlsx(
            {"S": CELLS_ONLY},
            parts={
                "xl/_rels/workbook.xml.rels": relations(("worksheet", "xl/worksheets/sheet1.xml")),
                "xl/worksheets/_rels/sheet1.xml.rels": relations(("table", "../tables/table1.xml")),
                "xl/tables/table1.xml": f'<table xmlns="{MAIN}" id="1" displayName="Wages" ref="A1:B2"/>',
            },
        ),
        cells=KEPT,
        lines=["Table Wages: A1:B2"],
    ),
    "a binary workbook": Case(
        data=workbooks.xlsb(
            [["Item", "Price", "Day"], [("shared", 0), (1234.5, 1), (45992, 2)], ["#N/A", True, 7]],
            "#,##0.00 [$€-407]",
            "dd.mm.yyyy",
        ),
        cells={"A1": "Item", "B1": "Price", "C1": "Day", "A2": "shared words", "B2": "1,234.50 €", "C2": "01.12.2025"}
        | {"A3": "#N/A", "B3": "TRUE", "C3": "7"},
        lines=["sheet Data: 3 rows × 3 columns", "| 2 (hidden) |", "B (hidden)", "A1:B1 merged"],
    ),
    "an Excel file of 1997": Case(
        data=LEGACY,
        cells={
            "A1": "Item",
            "B2": "12.3%",
            "C2": "1,234.50 EUR",
            "D2": "2026-03-01 14:30:00",
            "F2": "152.3373",
            "A5": "#DIV/0!",
        }
        | {"A6": "TRUE", "H40": "far away", "A109": "row 59"},
        lines=[
            "| 3 (hidden) | B |",
            "C (hidden)",
            "Comment on A2",
            "Check with Anna",
            "sheet Sheet: 109 rows × 8 columns",
        ],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_cells_are_read_as_excel_shows_them(case: Case) -> None:
    text = read(case.data)
    shown = cells_of(text)
    assert {reference: shown.get(reference, "") for reference in case.cells} == case.cells
    for line in case.lines:
        assert line in text

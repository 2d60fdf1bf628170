"""Word files with content around the text: pictures, boxes, tables, charts, embedded files, and odd packages."""

from tests.tools_app.office.files import (
    Case,
    archive,
    changed,
    chart,
    diagram,
    drawing,
    field,
    graphic,
    item,
    level,
    numbering,
    paragraph,
    picture,
    relations,
    root,
    run,
    strict,
    table,
    table_cell,
    table_row,
    word,
)

_BOX = "<w:txbxContent>{}</w:txbxContent>"
_SHAPE = (
    '<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:anchor><wp:docPr id="4" name="Text Box 4"/>'
    "<a:graphic><a:graphicData><wps:wsp><wps:txbx>{0}</wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:anchor>"
    "</w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape><v:textbox>{0}</v:textbox></v:shape></w:pict></mc:Fallback>"
    "</mc:AlternateContent></w:r>"
)
_WATERMARK = (
    '<w:r><w:pict><v:shape id="PowerPlusWaterMarkObject1"><v:textpath string="DRAFT 4"/></v:shape></w:pict></w:r>'
)
_OLE = (
    '<w:r><w:object><v:shape><v:imagedata r:id="i" o:title=""/></v:shape><o:OLEObject Type="Embed" ProgID="{}" r:id="{}"/>'
    "</w:object></w:r>"
)
_SPAN = '<w:gridSpan w:val="{}"/>'
_PICTURES = {"word/media/image1.png": picture(640, 480), "word/media/image2.jpeg": picture(32, 20, "JPEG")}
_PICTURE_TARGETS = {"p1": ("image", "media/image1.png"), "p2": ("image", "media/image2.jpeg")}

_PLAIN = word(paragraph("Strictly 17 words") + item("numbered"), numbering=numbering(level(0, "%1.")))

CASES = [
    Case(
        name="pictures",
        data=word(
            paragraph(drawing("p1"))
            + paragraph(run("See ") + drawing("p2", description="Sales by region") + run(" above"))
            + paragraph(drawing("p1", name="umsatz.png", link="l")),
            targets=_PICTURE_TARGETS | {"l": ("hyperlink", "https://example.org/full", "External")},
            parts=_PICTURES,
        ),
        shown=[
            "[picture 1: image1.png, 640 × 480]",
            "See [picture 2: image2.jpeg, 32 × 20: Sales by region] above",
            "[picture 3: image1.png, 640 × 480, umsatz.png](https://example.org/full)",
        ],
    ),
    Case(
        name="a picture that is missing, linked, or old",
        data=word(
            paragraph(drawing("gone"))
            + paragraph(
                '<w:r><w:drawing><wp:inline><wp:docPr id="1" name="x"/><a:graphic><a:graphicData><pic:pic><pic:blipFill>'
                '<a:blip r:link="far"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>'
            )
            + paragraph(
                '<w:r><w:pict><v:shape alt="Old logo"><v:imagedata r:id="p1" o:title="logo"/></v:shape></w:pict></w:r>'
            ),
            targets={"p1": ("image", "media/image1.png"), "far": ("image", "https://example.org/far.png", "External")},
            parts=_PICTURES,
        ),
        shown=[
            "[picture 1: missing]",
            "[picture 2: https://example.org/far.png]",
            "[picture 3: image1.png, 640 × 480: Old logo]",
        ],
    ),
    Case(
        name="a text box, once",
        data=word(paragraph(run("Before") + _SHAPE.format(_BOX.format(paragraph("Boxed 42 percent"))) + run(" after"))),
        shown=["Before after", "[text box] Boxed 42 percent"],
        once=["Boxed 42 percent"],
    ),
    Case(
        name="a text box with a table and a list, and one in a cell",
        data=word(
            paragraph(_SHAPE.format(_BOX.format(table(["Inside", "3.75"]) + item("first"))))
            + table(["Cell", table_cell(paragraph(run("text") + _SHAPE.format(_BOX.format(paragraph("boxed 8")))))]),
            numbering=numbering(level(0, "%1)")),
        ),
        shown=["| Inside | 3.75 |", "1) first", "boxed 8", "text"],
        once=["boxed 8", "Inside"],
    ),
    Case(
        name="old text boxes and a watermark",
        data=word(
            paragraph(
                f"<w:r><w:pict><v:rect><v:textbox>{_BOX.format(paragraph('Old box 1999'))}</v:textbox></v:rect></w:pict></w:r>"
            )
            + '<w:sectPr><w:headerReference w:type="default" r:id="h"/></w:sectPr>',
            targets={"h": ("header", "header1.xml")},
            parts={"word/header1.xml": root("w:hdr", paragraph(_WATERMARK))},
        ),
        shown=["Old box 1999", "Header: [text art: DRAFT 4]"],
    ),
    Case(
        name="a chart",
        data=word(
            paragraph(graphic('<c:chart r:id="c"/>')),
            targets={"c": ("chart", "charts/chart1.xml")},
            parts={
                "word/charts/chart1.xml": chart(
                    "Revenue", ["Q1", "Q2"], {"North": ["12.5", "14"], "South": ["8", "9.25"]}
                )
            },
        ),
        shown=["Chart: Revenue", "|  | North | South |", "| Q1 | 12.5 | 8 |", "| Q2 | 14 | 9.25 |"],
    ),
    Case(
        name="a diagram",
        data=word(
            paragraph(graphic('<dgm:relIds r:dm="d" r:lo="x" r:qs="x" r:cs="x"/>')),
            targets={"d": ("diagramData", "diagrams/data1.xml")},
            parts={
                "word/diagrams/data1.xml": diagram(
                    {"a": "Board", "b": "Sales 12", "c": "Finance 7"}, [("root", "a"), ("a", "b"), ("a", "c")]
                )
            },
        ),
        shown=["Diagram:", "- Board", "  - Sales 12", "  - Finance 7"],
        once=["Sales 12"],
    ),
    Case(
        name="headers and footers",
        data=word(
            paragraph("Body")
            + '<w:sectPr><w:headerReference w:type="first" r:id="a"/><w:headerReference w:type="even" r:id="b"/>'
            '<w:footerReference w:type="default" r:id="c"/><w:titlePg/></w:sectPr>',
            targets={"a": ("header", "header1.xml"), "b": ("header", "header2.xml"), "c": ("footer", "footer1.xml")},
            parts={
                "word/header1.xml": root("w:hdr", table(["Contract 2026/17", table_cell(paragraph(drawing("p1")))])),
                "word/_rels/header1.xml.rels": relations({"p1": ("image", "media/image1.png")}),
                "word/header2.xml": root("w:hdr", paragraph("Even side")),
                "word/footer1.xml": root(
                    "w:ftr",
                    paragraph(run("Page ") + field("PAGE", run("1")) + run(" of ") + field("NUMPAGES", run("12"))),
                ),
                "word/media/image1.png": picture(64, 48),
            },
        ),
        shown=["Header: Contract 2026/17", "image1.png, 64 × 48", "Header: Even side", "Footer: Page 1 of 12"],
    ),
    Case(
        name="merged cells",
        data=word(
            "<w:tbl><w:tblPr/>"
            + table_row(table_cell("Costs 2026", _SPAN.format(2)), "Sum")
            + table_row(table_cell("Berlin", '<w:vMerge w:val="restart"/>'), "10", "30")
            + table_row(table_cell("<w:r/>", "<w:vMerge/>"), "20", "40")
            + table_row("late", properties='<w:gridBefore w:val="2"/>')
            + "</w:tbl>"
        ),
        shown=["| Costs 2026 | ← | Sum |", "| Berlin | 10 | 30 |", "| ↑ | 20 | 40 |", "|  |  | late |"],
    ),
    Case(
        name="a table in a table",
        data=word(
            table(["Outer", table_cell(paragraph("Lead ") + table(["a", "1"], ["b", "2"]) + paragraph(run(" tail")))])
        ),
        shown=["| Outer | Lead a ¦ 1 / b ¦ 2 tail |"],
    ),
    Case(
        name="embedded files",
        data=word(
            paragraph(run("Budget ") + _OLE.format("Excel.Sheet.12", "x")) + paragraph(_OLE.format("Package", "o")),
            targets={
                "i": ("image", "media/image1.png"),
                "x": ("package", "embeddings/Budget_2026.xlsx"),
                "o": ("oleObject", "embeddings/oleObject1.bin"),
            },
            parts={"word/embeddings/Budget_2026.xlsx": b"PK", "word/embeddings/oleObject1.bin": b"x"} | _PICTURES,
        ),
        shown=["Budget [embedded file: Budget_2026.xlsx, Excel.Sheet.12]", "[embedded file: oleObject1.bin, Package]"],
    ),
    Case(
        name="a part in another format",
        data=word(
            paragraph("Own words") + '<w:altChunk r:id="h"/>',
            targets={"h": ("aFChunk", "afchunk.html")},
            parts={"word/afchunk.html": "<html><body><p>Imported 365 days</p></body></html>"},
        ),
        shown=["Own words", "Imported 365 days"],
    ),
    Case(name="strict OOXML", data=strict(_PLAIN), shown=["Strictly 17 words", "1. numbered"]),
    Case(
        name="damaged styles and numbers",
        data=changed(
            _PLAIN,
            {},
            {"word/styles.xml": "<w:styles", "word/numbering.xml": "<w:numbering>&", "docProps/core.xml": "<x"},
        ),
        shown=["Strictly 17 words", "numbered"],
    ),
    Case(
        name="no content types",
        data=archive(
            {
                "_rels/.rels": relations({"r": ("officeDocument", "/word/document.xml")}),
                "word/document.xml": root("w:document", f"<w:body>{paragraph('Bare 23')}</w:body>"),
            }
        ),
        shown=["Bare 23"],
    ),
    Case(
        name="another name of the main part",
        data=word(paragraph("Renamed 99") + item("point"), numbering="", main="word/document2.xml"),
        shown=["Renamed 99", "point"],
    ),
    Case(
        name="a document that is cut",
        data=archive(
            {
                "_rels/.rels": relations({"r": ("officeDocument", "word/document.xml")}),
                "word/document.xml": root("w:document", f"<w:body>{paragraph('Rescued 31')}{paragraph('words 32')}")[
                    :-22
                ]
                + "<w:p><w:r",
            }
        ),
        shown=["Rescued 31", "words 32"],
    ),
    Case(
        name="wrappers",
        data=word(
            paragraph(
                f'<w:smartTag><w:smartTag>{run("Tagged 6")}</w:smartTag></w:smartTag><w:bdo w:val="ltr">{run(" turned 7")}</w:bdo>'
                f'<w:dir w:val="ltr">{run(" sided 8")}</w:dir>'
            )
            + f"<w:customXml>{paragraph('Custom 5')}</w:customXml>"
            + f"<w:tbl><w:customXml>{table_row('in xml', '3')}</w:customXml></w:tbl>"
        ),
        shown=["Tagged 6 turned 7 sided 8", "Custom 5", "| in xml | 3 |"],
    ),
    Case(
        name="signs that Markdown would take",
        data=word(
            paragraph("[note]: the *fee* is 5 &lt;net&gt; _per_ month")
            + paragraph("4 * 5 * 6 = 120 and a_b_c")
            + paragraph("    indented 64")
            + paragraph("&lt;script&gt;alert(1)&lt;/script&gt;")
            + paragraph("==")
        ),
        shown=[
            "[note]: the *fee* is 5 <net> _per_ month",
            "4 * 5 * 6 = 120 and a_b_c",
            "indented 64",
            "<script>alert(1)</script>",
        ],
    ),
]

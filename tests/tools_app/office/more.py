"""Further Word and PowerPoint files: unusual producers, damaged values, and contents inside of other contents."""

from tests.tools_app.office.decks import deck_of, frame, part_of
from tests.tools_app.office.files import (
    STEIN,
    WINTER,
    Case,
    changed,
    deleted,
    diagram,
    drawing,
    field,
    graphic,
    inserted,
    item,
    level,
    numbering,
    paragraph,
    picture,
    relations,
    root,
    run,
    table,
    table_cell,
    table_row,
    word,
)

_CX = "http://schemas.microsoft.com/office/drawing/2014/chartex"
_WATERFALL = (
    f'<cx:chartSpace xmlns:cx="{_CX}" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><cx:chartData><cx:data '
    'id="0"><cx:strDim type="cat"><cx:lvl ptCount="2"><cx:pt idx="0">Opening</cx:pt><cx:pt idx="1">Sold</cx:pt></cx:lvl>'
    '</cx:strDim><cx:numDim type="val"><cx:lvl ptCount="2"><cx:pt idx="0">120.5</cx:pt><cx:pt idx="1">-31</cx:pt></cx:lvl>'
    "</cx:numDim></cx:data></cx:chartData><cx:chart><cx:title><cx:tx><cx:rich><a:p><a:r><a:t>Stock 2026</a:t></a:r></a:p>"
    '</cx:rich></cx:tx></cx:title><cx:plotArea><cx:plotAreaRegion><cx:series layoutId="waterfall"><cx:tx><cx:txData><cx:v>'
    'Units</cx:v></cx:txData></cx:tx><cx:dataId val="0"/></cx:series></cx:plotAreaRegion></cx:plotArea></cx:chart>'
    "</cx:chartSpace>"
)
_DATES = (
    "<c:chart><c:plotArea><c:lineChart><c:ser><c:tx><c:v>Price</c:v></c:tx><c:cat><c:numRef><c:numCache><c:formatCode>d/m/yyyy"
    '</c:formatCode><c:pt idx="0"><c:v>46023</c:v></c:pt><c:pt idx="1"><c:v>46054</c:v></c:pt></c:numCache></c:numRef></c:cat>'
    '<c:val><c:numRef><c:numCache><c:formatCode>General</c:formatCode><c:pt idx="0"><c:v>3.2000000000000002</c:v></c:pt>'
    '<c:pt idx="1"><c:v>4</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:lineChart><c:valAx><c:title><c:tx><c:rich>'
    "<a:p><a:r><a:t>EUR per kg</a:t></a:r></a:p></c:rich></c:tx></c:title></c:valAx></c:plotArea></c:chart>"
)
_BOX = "<w:txbxContent>{}</w:txbxContent>"
_CANVAS = (
    '<w:r><w:drawing><wp:inline><wp:docPr id="1" name="Group"/><a:graphic><a:graphicData><wpg:wgp xmlns:wpg="urn:g"><wps:wsp>'
    f"<wps:txbx>{_BOX.format(paragraph('Left 4'))}</wps:txbx></wps:wsp><wps:wsp><wps:txbx>{_BOX.format(paragraph('Right 9'))}"
    "</wps:txbx></wps:wsp></wpg:wgp></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
)
_MOVED_ROWS = (
    '<w:moveFromRangeStart w:id="20" w:name="move7" {0}/>{1}<w:moveFromRangeEnd w:id="20"/>{2}'
    '<w:moveToRangeStart w:id="30" w:name="move7" {0}/>{3}<w:moveToRangeEnd w:id="30"/>'
)


def _moved(kind: str, text: str) -> str:
    mark = f'<w:rPr><w:{kind} w:id="3" {STEIN}/></w:rPr>'
    return paragraph(f'<w:{kind} w:id="4" {STEIN}>{run(text)}</w:{kind}>', mark)


def _audio(deck: object, slide: object) -> None:
    key = part_of(slide, "/ppt/media/voice.m4a", "audio", b"sound")
    frame(
        slide,
        '<p:pic><p:nvPicPr><p:cNvPr id="5" name="Voice" descr="Greeting of 12 May"/><p:cNvPicPr/><p:nvPr>'
        f'<a:audioFile r:link="{key}"/></p:nvPr></p:nvPicPr><p:blipFill/><p:spPr/></p:pic>',
    )


def _waterfall(deck: object, slide: object) -> None:
    key = part_of(
        slide, "/ppt/charts/chartEx1.xml", "http://schemas.microsoft.com/office/2014/relationships/chartEx", _WATERFALL
    )
    frame(
        slide,
        '<mc:AlternateContent><mc:Choice Requires="cx1"><p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="6" name="Chart"/>'
        "<p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><p:xfrm/><a:graphic><a:graphicData>"
        f'<cx:chart xmlns:cx="{_CX}" r:id="{key}"/></a:graphicData></a:graphic></p:graphicFrame></mc:Choice><mc:Fallback>'
        "<p:sp><p:nvSpPr><p:cNvPr id='7' name='x'/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r>"
        "<a:t>This chart isn't available.</a:t></a:r></a:p></p:txBody></p:sp></mc:Fallback></mc:AlternateContent>",
    )


def _long_diagram(deck: object, slide: object) -> None:
    nodes = {"a": "Start 1", "b": "Middle 2", "c": "End 3", "free": "Legend 4"}
    key = part_of(
        slide, "/ppt/diagrams/data1.xml", "diagramData", diagram(nodes, [("root", "a"), ("root", "b"), ("root", "c")])
    )
    frame(
        slide,
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="8" name="D"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>'
        f'<p:xfrm/><a:graphic><a:graphicData><dgm:relIds r:dm="{key}"/></a:graphicData></a:graphic></p:graphicFrame>',
    )


def _cells_with_points(deck: object, slide: object) -> None:
    cell = (
        '<a:tc><a:txBody><a:bodyPr/><a:p><a:pPr><a:buAutoNum type="romanUcPeriod"/></a:pPr><a:r><a:t>{}</a:t></a:r></a:p>'
        "<a:p><a:pPr><a:buAutoNum type='romanUcPeriod'/></a:pPr><a:r><a:rPr><a:hlinkClick r:id='none'/></a:rPr><a:t>{}</a:t>"
        "</a:r></a:p></a:txBody></a:tc>"
    )
    frame(
        slide,
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="8" name="T"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>'
        f"<p:xfrm/><a:graphic><a:graphicData><a:tbl><a:tr>{cell.format('Rent 900', 'Heat 120')}{cell.format('A | B', 'x')}</a:tr>"
        "</a:tbl></a:graphicData></a:graphic></p:graphicFrame>",
    )


def _comparison(deck: object, slide: object) -> None:
    """Fill two columns of a head and a body each."""
    for index, text in enumerate(("Pro", "cheap 5", "Contra", "slow 6"), 1):
        slide.placeholders[index].text_frame.text = text  # type: ignore[attr-defined]


CASES = [
    Case(
        name="a change of a change",
        data=word(
            paragraph(
                f'<w:ins w:id="1" {WINTER}>{run("kept ")}<w:del w:id="2" {STEIN}><w:r><w:delText>draft 3</w:delText></w:r></w:del>'
                "</w:ins>" + run(" end")
            )
        ),
        shown=["{+kept +}[by L. Winter, 2026-03-10][-draft 3-][by B. Stein, 2026-03-11] end"],
    ),
    Case(
        name="moved paragraphs",
        data=word(
            _MOVED_ROWS.format(
                STEIN,
                _moved("moveFrom", "Clause on tax 19 %.") + _moved("moveFrom", "Clause on costs."),
                paragraph("Middle"),
                _moved("moveTo", "Clause on tax 19 %.") + _moved("moveTo", "Clause on costs."),
            )
        ),
        shown=["[moved 1: from here]", "[moved 1: to here]{+Clause on tax 19 %.+}", "{+Clause on costs.+}"],
        once=["Clause on tax 19 %.", "Clause on costs.", "[moved 1: from here]", "[moved 1: to here]"],
    ),
    Case(
        name="changes in a list, a heading, a cell and a box",
        data=word(
            item("one")
            + paragraph(
                inserted("two"),
                f'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr><w:rPr><w:ins w:id="1" {WINTER}/></w:rPr>',
            )
            + item("three")
            + paragraph(run("Fee") + deleted("s"), '<w:pStyle w:val="Heading2"/>')
            + table(["cell", table_cell(paragraph(deleted("12,00") + inserted("13,50")))])
            + paragraph(
                f"<w:r><w:pict><v:textbox>{_BOX.format(paragraph(inserted('boxed 77')))}</v:textbox></w:pict></w:r>"
            ),
            numbering=numbering(level(0, "%1)")),
        ),
        shown=["1) one", "2) {+two+}", "3) three", "## Fee[-s-]", "| cell | [-12,00-]{+13,50+} |", "{+boxed 77+}"],
    ),
    Case(
        name="an inserted picture, a deleted note and a changed field",
        data=word(
            paragraph(
                f'<w:ins w:id="1" {WINTER}>{drawing("p")}</w:ins>'
                f'<w:del w:id="2" {WINTER}><w:r><w:footnoteReference w:id="2"/></w:r></w:del>'
            )
            + paragraph(
                f'<w:del w:id="3" {WINTER}><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:delInstrText>REF a</w:delInstrText>'
                '</w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:delText>clause 9</w:delText></w:r><w:r>'
                '<w:fldChar w:fldCharType="end"/></w:r></w:del>' + run("clause 10")
            ),
            targets={"p": ("image", "media/image1.png"), "f": ("footnotes", "footnotes.xml")},
            parts={
                "word/media/image1.png": picture(30, 20),
                "word/footnotes.xml": root(
                    "w:footnotes", f'<w:footnote w:id="2">{paragraph("Old source 1987")}</w:footnote>'
                ),
            },
        ),
        shown=["{+[picture 1: image1.png, 30 × 20]+}[-[^1]-]", "Old source 1987", "[-clause 9-]clause 10"],
    ),
    Case(
        name="pages with changes",
        data=word(
            paragraph(run("One") + '<w:r><w:br w:type="page"/></w:r>')
            + paragraph(run("Two ") + deleted("22") + '<w:r><w:br w:type="page"/></w:r>')
            + paragraph(inserted("Three"))
        ),
        shown=[
            "Tracked changes, not accepted: 1 insertion, 1 deletion by L. Winter",
            "On pages 2, 3.",
            "[-22-]",
            "{+Three+}",
        ],
    ),
    Case(
        name="values out of range",
        data=word(
            paragraph('<w:r><w:sym w:font="Symbol" w:char="ZZ"/><w:t>kept 41</w:t></w:r>')
            + paragraph(
                "kept 42", '<w:outlineLvl w:val="x"/><w:numPr><w:ilvl w:val="-3"/><w:numId w:val="77"/></w:numPr>'
            )
            + "<w:tbl>"
            + table_row(table_cell("kept 43", '<w:gridSpan w:val="abc"/>'))
            + "</w:tbl>"
            + item("kept 44", 8)
            + item("kept 45", 12),
            numbering=numbering(
                level(0, "%1.", start=1) + '<w:lvl w:ilvl="8"><w:start w:val="?"/><w:lvlText w:val="%9%8"/></w:lvl>'
            ),
        ),
        shown=["kept 41", "kept 42", "| kept 43 |", "kept 44", "kept 45"],
    ),
    Case(
        name="styles that are based on each other",
        data=word(
            paragraph("Looped 5", '<w:pStyle w:val="A"/>')
            + paragraph("Unknown 6", '<w:pStyle w:val="Gone"/>')
            + paragraph("Outline 7", '<w:pStyle w:val="C"/>'),
            styles='<w:style w:type="paragraph" w:styleId="A"><w:basedOn w:val="B"/></w:style><w:style w:type="paragraph" '
            'w:styleId="B"><w:basedOn w:val="A"/></w:style><w:style/><w:style w:type="paragraph" w:styleId="C"><w:name '
            'w:val="Custom"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>',
        ),
        shown=["Looped 5", "Unknown 6", "### Outline 7"],
    ),
    Case(
        name="numbers of a list with levels that were not used, and of a list in another style",
        data=word(
            item("deep first", 1)
            + item("top", 0)
            + item("deep", 1)
            + paragraph("by style", '<w:pStyle w:val="Num"/>')
            + paragraph("by style again", '<w:pStyle w:val="NumChild"/>'),
            numbering=numbering(
                level(0, "%1.") + level(1, "%1.%2."),
                '<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="4"><w:abstractNumId w:val="5"/><w:lvlOverride '
                'w:ilvl="0"><w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="upperLetter"/><w:lvlText w:val="Annex %1:"/></w:lvl>'
                '<w:startOverride w:val="3"/></w:lvlOverride></w:num>',
            ),
            styles='<w:style w:type="paragraph" w:styleId="Num"><w:name w:val="Num"/><w:pPr><w:numPr><w:numId w:val="4"/></w:numPr>'
            '</w:pPr></w:style><w:style w:type="paragraph" w:styleId="NumChild"><w:name w:val="NumChild"/><w:basedOn w:val="Num"/>'
            "</w:style>",
        ),
        shown=["1.1. deep first", "1. top", "1.1. deep", "Annex C: by style", "Annex D: by style again"],
    ),
    Case(
        name="words of numbers, dashes and circles",
        data=word(
            item("a", 0) + item("b", 1) + item("c", 2) + item("d", 3),
            numbering=numbering(
                level(0, "%1 Part", "cardinalText", start=21)
                + level(1, "%2 step", "ordinalText", start=12)
                + level(2, "%3", "numberInDash", start=7)
                + level(3, "%4", "decimalEnclosedCircle", start=3)
            ),
        ),
        shown=["Twenty-one Part a", "Twelfth step b", "- 7 - c", "③ d"],
    ),
    Case(
        name="groups of boxes",
        data=word(paragraph(_CANVAS)),
        shown=["[text box] Left 4", "[text box] Right 9"],
        once=["Left 4", "Right 9"],
    ),
    Case(
        name="a chart with dates and a named axis",
        data=word(
            paragraph(graphic('<c:chart r:id="c"/>')),
            targets={"c": ("chart", "charts/chart1.xml")},
            parts={"word/charts/chart1.xml": root("c:chartSpace", _DATES)},
        ),
        shown=["| 2026-01-01 | 3.2 |", "| 2026-02-01 | 4 |", "Price", "EUR per kg"],
    ),
    Case(
        name="a chart in a cell and a diagram in a box",
        data=word(
            table([table_cell(paragraph(graphic('<c:chart r:id="c"/>'))), "beside"])
            + paragraph(
                "<w:r><w:pict><v:textbox>"
                + _BOX.format(paragraph(graphic('<dgm:relIds r:dm="d"/>')))
                + "</v:textbox></w:pict></w:r>"
            ),
            targets={"c": ("chart", "charts/chart1.xml"), "d": ("diagramData", "diagrams/data1.xml")},
            parts={
                "word/charts/chart1.xml": root("c:chartSpace", _DATES),
                "word/diagrams/data1.xml": diagram({"a": "Boxed node 5"}, [("root", "a")]),
            },
        ),
        shown=["2026-02-01", "3.2", "beside", "Boxed node 5"],
    ),
    Case(
        name="links in notes, comments and headers",
        data=word(
            paragraph(run("Text") + '<w:r><w:footnoteReference w:id="2"/></w:r>')
            + '<w:sectPr><w:headerReference w:type="default" r:id="h"/></w:sectPr>',
            targets={"h": ("header", "header1.xml"), "f": ("footnotes", "footnotes.xml")},
            parts={
                "word/header1.xml": root(
                    "w:hdr", paragraph('<w:hyperlink r:id="l"><w:r><w:t>Home</w:t></w:r></w:hyperlink>')
                ),
                "word/_rels/header1.xml.rels": relations({"l": ("hyperlink", "https://example.org/home", "External")}),
                "word/footnotes.xml": root(
                    "w:footnotes",
                    '<w:footnote w:id="2">'
                    + paragraph('<w:hyperlink r:id="l"><w:r><w:t>Source</w:t></w:r></w:hyperlink>')
                    + paragraph("second line 8")
                    + "</w:footnote>",
                ),
                "word/_rels/footnotes.xml.rels": relations({"l": ("hyperlink", "https://example.org/src", "External")}),
            },
        ),
        shown=["Header: [Home](https://example.org/home)", "[^1]: [Source](https://example.org/src) second line 8"],
    ),
    Case(
        name="a field over several paragraphs, and a link to a mail with a subject",
        data=word(
            '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>TOC \\h</w:instrText></w:r><w:r><w:fldChar '
            'w:fldCharType="separate"/></w:r>'
            + run("Intro")
            + "<w:r><w:tab/></w:r>"
            + field("PAGEREF _T1", run("2"))
            + "</w:p>"
            + paragraph(run("Costs") + "<w:r><w:tab/></w:r>" + field("PAGEREF _T2", run("14")))
            + '<w:p><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>'
            + paragraph(field('HYPERLINK "mailto:a@example.org?subject=Offer%207"', run("write us")))
            + paragraph(field('HYPERLINK \\l "anchor"', run("inside")))
        ),
        shown=["Intro\t2", "Costs\t14", "[write us](mailto:a@example.org?subject=Offer%207)", "inside"],
        absent=["TOC", "PAGEREF", "anchor"],
    ),
    Case(
        name="cells with several paragraphs, line breaks and signs",
        data=word(
            table(
                [
                    table_cell(paragraph("a") + paragraph("b 1")),
                    table_cell(paragraph("<w:r><w:t>x</w:t><w:br/><w:t>y 2</w:t></w:r>")),
                ],
                [table_cell(paragraph("p | q")), table_cell(paragraph("→"))],
            )
            + table([table_cell(paragraph("Letter") + paragraph("in one cell 3"))])
        ),
        shown=["| a b 1 | x y 2 |", "| p ¦ q | → |", "| Letter in one cell 3 |"],
    ),
    Case(
        name="names of parts with backslashes and another case",
        data=changed(
            word(
                paragraph(drawing("p")),
                targets={"p": ("image", "media\\Image1.PNG")},
                parts={"word/media/image1.png": picture(5, 4)},
            ),
            {},
        ),
        shown=["[picture 1: Image1.PNG, 5 × 4]"],
    ),
    Case(name="a sound on a slide", data=deck_of(_audio), shown=["[sound: voice.m4a, Greeting of 12 May]"]),
    Case(
        name="a new kind of chart",
        data=deck_of(_waterfall),
        shown=["Chart: Stock 2026", "|  | Units |", "| Opening | 120.5 |", "| Sold | -31 |"],
        absent=["available"],
    ),
    Case(
        name="a diagram with a text outside of its tree",
        data=deck_of(_long_diagram),
        shown=["- Start 1\n- Middle 2\n- End 3", "- Legend 4"],
    ),
    Case(
        name="legal numbers with leading zeros",
        data=word(
            item("Name") + item("Other") + item("Scope", 1),
            numbering=numbering(
                level(0, "Article %1.", "upperRoman") + level(1, "Section %1.%2", "decimalZero", "<w:isLgl/>")
            ),
        ),
        shown=["Article I. Name", "Article II. Other", "Section 2.01 Scope"],
    ),
    Case(
        name="a diagram whose texts are only drawn",
        data=word(
            paragraph(graphic('<dgm:relIds r:dm="d"/>')),
            targets={"d": ("diagramData", "diagrams/data1.xml"), "x": ("diagramDrawing", "diagrams/drawing1.xml")},
            parts={
                "word/diagrams/data1.xml": root(
                    "dgm:dataModel",
                    '<dgm:ptLst/><dgm:extLst><a:ext><x:dataModelExt xmlns:x="urn:x" relId="x"/></a:ext></dgm:extLst>',
                ),
                "word/diagrams/drawing1.xml": root(
                    "d:drawing",
                    "<d:sp><d:txBody><a:p><a:r><a:t>Drawn 61</a:t></a:r></a:p></d:txBody></d:sp>",
                    'xmlns:d="urn:d"',
                ),
            },
        ),
        shown=["Diagram:", "- Drawn 61"],
    ),
    Case(
        name="columns with a head each",
        data=deck_of(_comparison, 4),
        shown=["Pro\n- cheap 5\nContra\n- slow 6"],
    ),
    Case(
        name="a range of pages with changes",
        data=word(
            "".join(
                paragraph(
                    (deleted(f"old {page}") if page in (2, 3, 4, 6) else run(f"new {page}"))
                    + '<w:r><w:br w:type="page"/></w:r>'
                )
                for page in range(1, 8)
            )
        ),
        shown=["4 deletions by L. Winter (2026-03-10)", "On pages 2 to 4, 6.", "[-old 6-]"],
    ),
    Case(
        name="numbered points in the cells of a slide",
        data=deck_of(_cells_with_points),
        shown=["| I. Rent 900 II. Heat 120 | I. A ¦ B II. x |"],
    ),
]

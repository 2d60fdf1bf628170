"""PowerPoint files with one kind of content each. python-pptx makes the base; the rest is XML."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import pptx
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.enum.shapes import PROG_ID
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.oxml import parse_xml
from pptx.util import Inches

from tests.tools_app.office.files import Case, diagram, picture, root, strict

_TITLE_ONLY, _BLANK, _TWO_CONTENT = 5, 6, 3
_NS = {
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
}
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"


def deck_of(build: Callable[[Any, Any], None], layout: int = _BLANK) -> bytes:
    """Return a deck of one slide that `build(deck, slide)` fills."""
    deck = pptx.Presentation()
    build(deck, deck.slides.add_slide(deck.slide_layouts[layout]))
    out = BytesIO()
    deck.save(out)
    return out.getvalue()


def _box(slide: Any, text: str, left: float, top: float, width: float = 2, height: float = 0.5) -> Any:
    shape = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(width), Inches(height))
    shape.text_frame.text = text
    return shape


def _xml(content: str) -> Any:
    """Return the element of an XML fragment."""
    return parse_xml(root("x", content).encode())[0]


def part_of(slide: Any, name: str, kind: str, content: str | bytes) -> str:
    """Add a part that the slide refers to, and return the relationship's id."""
    data = content.encode() if isinstance(content, str) else content
    part = Part(PackURI(name), "application/xml", slide.part.package, data)
    return str(slide.part.relate_to(part, kind if kind.startswith("http") else _REL + kind))


def frame(slide: Any, content: str) -> None:
    """Add a shape in XML to the slide."""
    slide.shapes._spTree.append(_xml(content))


def _graphic_frame(content: str) -> Any:
    return _xml(
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="40" name="Frame"/><p:cNvGraphicFramePr/><p:nvPr/>'
        '</p:nvGraphicFramePr><p:xfrm><a:off x="914400" y="914400"/><a:ext cx="914400" cy="914400"/></p:xfrm>'
        f"<a:graphic><a:graphicData>{content}</a:graphicData></a:graphic></p:graphicFrame>"
    )


def _smart_art(deck: Any, slide: Any) -> None:
    data = diagram({"a": "Plan 2027", "b": "Hire 3", "c": "Move"}, [("root", "a"), ("a", "c"), ("a", "b")])
    key = part_of(slide, "/ppt/diagrams/data1.xml", "diagramData", data)
    slide.shapes._spTree.append(_graphic_frame(f'<dgm:relIds r:dm="{key}"/>'))


def _charts(deck: Any, slide: Any) -> None:
    bars = CategoryChartData()
    bars.categories = ["Q1", "Q2"]
    bars.add_series("North", (12.5, 14))
    bars.add_series("South", (8, None))
    slide.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, 0, 0, Inches(2), Inches(1), bars).chart.has_title = True
    slide.shapes[0].chart.chart_title.text_frame.text = "Revenue 2026"
    points = XyChartData()
    series = points.add_series("Measured")
    series.add_data_point(0.5, 101)
    series.add_data_point(1.5, 203)
    slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, 0, Inches(3), Inches(2), Inches(1), points)


def _several_levels(deck: Any, slide: Any) -> None:
    data = CategoryChartData(number_format="0%")
    north = data.add_category("North")
    north.add_sub_category("Kiel")
    north.add_sub_category("Bremen")
    data.add_series("Share", (0.25, 0.75))
    slide.shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, Inches(2), Inches(1), data)


def _chart_without_values(deck: Any, slide: Any) -> None:
    data = CategoryChartData()
    data.categories = ["May"]
    data.add_series("Hives", (37,))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.LINE, 0, 0, Inches(2), Inches(1), data).chart
    for cache in chart._chartSpace.xpath("//c:strCache | //c:numCache"):
        cache.getparent().remove(cache)


def _merged(deck: Any, slide: Any) -> None:
    table = slide.shapes.add_table(3, 3, 0, 0, Inches(4), Inches(2)).table
    table.cell(0, 0).text, table.cell(0, 2).text = "Costs 2026", "Sum"
    table.cell(0, 0).merge(table.cell(0, 1))
    table.cell(1, 0).text, table.cell(1, 1).text, table.cell(1, 2).text = "Berlin", "10", "30"
    table.cell(2, 1).text, table.cell(2, 2).text = "20", "40"
    table.cell(1, 0).merge(table.cell(2, 0))


def _notes(deck: Any, slide: Any) -> None:
    slide.shapes.title.text = "Talk"
    slide.notes_slide.notes_text_frame.text = "Say 1,200 first\nthen pause"


def _old_comments(deck: Any, slide: Any) -> None:
    _box(slide, "Draft", 1, 1)
    authors = root("p:cmAuthorLst", '<p:cmAuthor id="7" name="Ada Roth" initials="AR"/>')
    deck.part.relate_to(
        Part(PackURI("/ppt/commentAuthors.xml"), "application/xml", deck.part.package, authors.encode()),
        _REL + "commentAuthors",
    )
    comment = (
        '<p:cm authorId="7" dt="2026-03-10T09:00:00" idx="1"><p:pos x="1" y="1"/><p:text>Source of 42?</p:text></p:cm>'
    )
    part_of(slide, "/ppt/comments/comment1.xml", "comments", root("p:cmLst", comment))


def _new_comments(deck: Any, slide: Any) -> None:
    _box(slide, "Draft", 1, 1)
    text = "<p188:txBody><a:bodyPr/><a:p><a:r><a:t>{}</a:t></a:r></a:p></p188:txBody>"
    authors = root("p188:authorLst", '<p188:author id="{1}" name="Ada Roth"/><p188:author id="{2}" name="Ben Stein"/>')
    address = "http://schemas.microsoft.com/office/2018/10/relationships/"
    deck.part.relate_to(
        Part(PackURI("/ppt/authors.xml"), "application/xml", deck.part.package, authors.encode()), address + "authors"
    )
    comments = (
        '<p188:cm id="{A}" authorId="{1}" created="2026-03-10T09:00:00"><p188:replyLst><p188:reply id="{B}" authorId="{2}" '
        f'created="2026-03-11T09:00:00">{text.format("Now 57.")}</p188:reply></p188:replyLst>{text.format("Source of 42?")}'
        '</p188:cm><p188:cm id="{C}" authorId="{2}" status="resolved" created="2026-03-12T09:00:00">'
        f"{text.format('Typo fixed')}</p188:cm>"
    )
    part_of(slide, "/ppt/comments/modernComment_1.xml", address + "comments", root("p188:cmLst", comments))


def _grouped(deck: Any, slide: Any) -> None:
    group = slide.shapes.add_group_shape()
    inner = group.shapes.add_group_shape()
    box = inner.shapes.add_textbox(Inches(1), Inches(3), Inches(2), Inches(1))
    box.text_frame.text = "Deep 11"
    other = group.shapes.add_textbox(Inches(1), Inches(1), Inches(2), Inches(1))
    other.text_frame.text = "Shallow 22"


def _reversed(deck: Any, slide: Any) -> None:
    """Add boxes in an order that is not the one on the slide: two columns of a grid below a line, and a foot."""
    for text, left, top in (
        ("Foot 5", 1, 6),
        ("Right 3", 5, 3),
        ("Left 2", 1, 3.1),
        ("Right low 4", 5, 4.5),
        ("Top 1", 1, 1),
    ):
        _box(slide, text, left, top)


def _in_layout(deck: Any, slide: Any) -> None:
    """Fill placeholders whose places only the layout knows, in the wrong order of the file."""
    slide.placeholders[1].text_frame.text = "Left body"
    slide.placeholders[2].text_frame.text = "Right body"
    slide.shapes.title.text = "Both"
    tree = slide.shapes._spTree
    tree.append(slide.placeholders[1]._element)
    tree.append(slide.shapes.title._element)


def _hidden(deck: Any, slide: Any) -> None:
    _box(slide, "Backup figures 2025", 1, 1)
    slide.element.set("show", "0")


def _pictures(deck: Any, slide: Any) -> None:
    slide.shapes.add_picture(BytesIO(picture(640, 480)), 0, 0)
    described = slide.shapes.add_picture(BytesIO(picture(32, 20)), 0, Inches(6))
    described._element.nvPicPr.cNvPr.set("descr", "Sales by region")
    slide.shapes[0]._element.nvPicPr.cNvPr.set("descr", "")


def _media(deck: Any, slide: Any) -> None:
    slide.shapes.add_movie(BytesIO(b"video"), 0, 0, Inches(1), Inches(1), mime_type="video/mp4")
    slide.shapes.add_ole_object(BytesIO(b"book"), PROG_ID.XLSX, 0, Inches(3), icon_file=BytesIO(picture(9, 9)))


def _footers(deck: Any, slide: Any) -> None:
    for number in (1, 2):
        one = slide if number == 1 else deck.slides.add_slide(deck.slide_layouts[_TITLE_ONLY])
        one.shapes.title.text = f"Slide of {number}"
        for kind, text in (("ftr", "Confidential 2026"), ("sldNum", f"‹{number}›"), ("dt", "28.11.2026")):
            one.shapes._spTree.append(
                _xml(
                    f'<p:sp><p:nvSpPr><p:cNvPr id="9{number}" name="{kind}"/><p:cNvSpPr/><p:nvPr><p:ph type="{kind}"/></p:nvPr>'
                    f"</p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
                )
            )


def _links(deck: Any, slide: Any) -> None:
    words = _box(slide, "", 1, 1).text_frame.paragraphs[0]
    for text, address in (
        ("Terms", "https://example.org/terms"),
        (" and ", ""),
        ("Ms Roth", "mailto:roth@example.org"),
    ):
        part = words.add_run()
        part.text = text
        if address:
            part.hyperlink.address = address
    _box(slide, "Whole box 6", 1, 3).click_action.hyperlink.address = "https://example.org/box"
    other = deck.slides.add_slide(deck.slide_layouts[_BLANK])
    _box(slide, "Details", 1, 5).click_action.target_slide = other


def _list(deck: Any, slide: Any) -> None:
    slide.shapes.title.text = "Steps"
    frame = slide.placeholders[1].text_frame
    frame.text = "Plain point"
    for text, level, bullet in (
        ("Sub point", 1, ""),
        ("Fourth", 0, '<a:buAutoNum type="arabicPeriod" startAt="4"/>'),
        ("Fifth", 0, '<a:buAutoNum type="arabicPeriod" startAt="4"/>'),
        ("inner", 1, '<a:buAutoNum type="alphaLcParenR"/>'),
        ("Sixth", 0, '<a:buAutoNum type="arabicPeriod" startAt="4"/>'),
        ("No bullet", 0, "<a:buNone/>"),
    ):
        line = frame.add_paragraph()
        line.text, line.level = text, level
        if bullet:
            line._p.get_or_add_pPr().append(_xml(bullet))


def _layout_texts(deck: Any, slide: Any) -> None:
    layout = slide.slide_layout
    shape = _xml(
        '<p:sp><p:nvSpPr><p:cNvPr id="77" name="Seal"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r>'
        "<a:t>Norden AG, strictly private</a:t></a:r></a:p></p:txBody></p:sp>"
    )
    layout.shapes._spTree.append(shape)
    deck.slides.add_slide(layout)
    _box(slide, "Own 8", 1, 1)


def _equation(deck: Any, slide: Any) -> None:
    frame = _box(slide, "Given ", 1, 1)
    frame.text_frame.paragraphs[0]._p.append(
        _xml(
            '<mc:AlternateContent><mc:Choice Requires="a14"><a14:m><m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup>'
            "<m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></a14:m></mc:Choice><mc:Fallback><a:r><a:t>x2</a:t></a:r>"
            "</mc:Fallback></mc:AlternateContent>"
        )
    )


def _lines(deck: Any, slide: Any) -> None:
    words = _box(slide, "", 1, 1).text_frame.paragraphs[0]
    words.add_run().text = "Line one"
    words.add_line_break()
    words.add_run().text = "line 2 was "
    struck = words.add_run()
    struck.text = "9 €"
    struck._r.get_or_add_rPr().set("strike", "sngStrike")
    raised = words.add_run()
    raised.text = "3"
    raised._r.get_or_add_rPr().set("baseline", "30000")
    words._p.append(_xml('<a:fld id="{1}" type="slidenum"><a:rPr/><a:t>‹12›</a:t></a:fld>'))


def _alternatives(deck: Any, slide: Any) -> None:
    """Add a shape in two versions, of which readers show one, and a hidden shape."""
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="5{0}" name="x" hidden="{1}"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody>'
        "<a:bodyPr/><a:p><a:r><a:t>{2}</a:t></a:r></a:p></p:txBody></p:sp>"
    )
    both = (
        f'<mc:AlternateContent><mc:Choice Requires="p14">{shape.format(1, 0, "Chosen 15")}</mc:Choice><mc:Fallback>'
        f"{shape.format(1, 0, 'Chosen 15')}</mc:Fallback></mc:AlternateContent>"
    )
    slide.shapes._spTree.append(_xml(both))
    slide.shapes._spTree.append(_xml(shape.format(2, 1, "Concealed 16")))


CASES = [
    Case(
        name="a diagram on a slide",
        data=deck_of(_smart_art),
        shown=["Diagram:", "- Plan 2027", "  - Move", "  - Hire 3"],
        once=["Hire 3"],
    ),
    Case(
        name="charts on a slide",
        data=deck_of(_charts),
        shown=[
            "Chart: Revenue 2026",
            "|  | North | South |",
            "| Q1 | 12.5 | 8 |",
            "| Q2 | 14 |  |",
            "Measured",
            "| 0.5 | 101 |",
            "| 1.5 | 203 |",
        ],
    ),
    Case(
        name="a chart with groups of categories",
        data=deck_of(_several_levels),
        shown=["| North, Kiel | 0.25 |", "| North, Bremen | 0.75 |", "Share"],
    ),
    Case(name="a chart without stored values", data=deck_of(_chart_without_values), shown=["May", "Hives", "37"]),
    Case(
        name="merged cells on a slide",
        data=deck_of(_merged),
        shown=["| Costs 2026 | ← | Sum |", "| Berlin | 10 | 30 |", "| ↑ | 20 | 40 |"],
    ),
    Case(
        name="notes of a slide",
        data=deck_of(_notes, _TITLE_ONLY),
        shown=["# Talk", "Notes: Say 1,200 first\nthen pause"],
    ),
    Case(
        name="old comments of a slide",
        data=deck_of(_old_comments),
        shown=["Draft", "Comment by Ada Roth, 2026-03-10: Source of 42?"],
    ),
    Case(
        name="new comments of a slide",
        data=deck_of(_new_comments),
        shown=[
            "Comment by Ada Roth, 2026-03-10: Source of 42?",
            "Reply by Ben Stein, 2026-03-11: Now 57.",
            "Comment by Ben Stein, 2026-03-12, resolved: Typo fixed",
        ],
    ),
    Case(name="grouped shapes", data=deck_of(_grouped), shown=["Shallow 22\nDeep 11"]),
    Case(
        name="the order of the slide",
        data=deck_of(_reversed),
        shown=["Top 1\nLeft 2\nRight 3\nRight low 4\nFoot 5"],
    ),
    Case(
        name="places from the layout",
        data=deck_of(_in_layout, _TWO_CONTENT),
        shown=["# Both\n- Left body\n- Right body"],
    ),
    Case(name="a hidden slide", data=deck_of(_hidden), shown=["(hidden)", "Backup figures 2025"]),
    Case(
        name="pictures of a slide",
        data=deck_of(_pictures),
        shown=["[picture 1: image1.png, 640 × 480]", "[picture 2: image2.png, 32 × 20: Sales by region]"],
    ),
    Case(
        name="a video and an embedded file",
        data=deck_of(_media),
        shown=["[video: media1.mp4]", "[embedded file: Microsoft_Excel_Sheet1.xlsx, Excel.Sheet.12]"],
    ),
    Case(
        name="footers of slides",
        data=deck_of(_footers, _TITLE_ONLY),
        shown=["Slide of 1", "Slide of 2", "Footer: Confidential 2026", "28.11.2026"],
        once=["Confidential 2026", "28.11.2026"],
        absent=["‹1›", "‹2›"],
    ),
    Case(
        name="links of a slide",
        data=deck_of(_links),
        shown=[
            "[Terms](https://example.org/terms) and [Ms Roth](mailto:roth@example.org)",
            "[Whole box 6](https://example.org/box)",
            "Details (to slide 2)",
        ],
    ),
    Case(
        name="numbered points",
        data=deck_of(_list, 1),
        shown=["# Steps", "- Plain point\n  - Sub point\n4. Fourth\n5. Fifth\n  a) inner\n6. Sixth\nNo bullet"],
    ),
    Case(
        name="text of the layout",
        data=deck_of(_layout_texts),
        shown=["Own 8", "Norden AG, strictly private"],
        once=["Norden AG, strictly private"],
    ),
    Case(name="a strict deck", data=strict(deck_of(_notes, _TITLE_ONLY)), shown=["# Talk", "Say 1,200 first"]),
    Case(name="an equation on a slide", data=deck_of(_equation), shown=["Given x^2"], absent=["x2"]),
    Case(name="lines, struck and raised text", data=deck_of(_lines), shown=["Line one\nline 2 was ~~9 €~~³‹12›"]),
    Case(
        name="a shape in two versions and a hidden one",
        data=deck_of(_alternatives),
        shown=["Chosen 15", "[hidden: Concealed 16]"],
        once=["Chosen 15"],
    ),
]

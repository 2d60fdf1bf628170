"""The look of PowerPoint files: fonts, colours, and places of the two layouts. It changes the library's template."""

from copy import deepcopy
from typing import Any

from lxml import etree
from pptx.dml.color import RGBColor
from pptx.opc.constants import RELATIONSHIP_TYPE
from pptx.oxml.ns import qn
from pptx.util import Pt

from tools_app.documents.deck.chart import COLOURS
from tools_app.documents.deck.layout import BODY, HEIGHT, MARGIN, TITLE, WIDTH, Box

COVER, TITLE_AND_BODY = 0, 1  # layouts of the template that remain
ACCENT, CODE_BACKGROUND, CODE_FONT = COLOURS[0], "F1F3F6", "Courier New"
_DARK = "1B2F4A"
_FONT = "Arial"  # its widths are those of Liberation Sans, so that text fits also where Arial is missing
_COVER_TITLE = Box(left=80, top=160, width=WIDTH - 160, height=200)
_NUMBER = Box(left=WIDTH - MARGIN - 80, top=HEIGHT - 32, width=80, height=20)


def apply(presentation: Any) -> None:
    """Give the template 16:9 slides, and its two layouts the look of our decks."""
    presentation.slide_width, presentation.slide_height = Pt(WIDTH), Pt(HEIGHT)
    presentation.part._element.set("firstSlideNum", "0")  # the cover has no number
    master = presentation.slide_master
    for layout in list(presentation.slide_layouts)[2:]:
        presentation.slide_layouts.remove(layout)
    _colour(master.part.part_related_by(RELATIONSHIP_TYPE.THEME))
    style = master.element.find(f".//{qn('p:titleStyle')}/{qn('a:lvl1pPr')}")
    style.set("algn", "l")
    style.find(qn("a:defRPr")).set("b", "1")
    style.find(f".//{qn('a:schemeClr')}").set("val", "tx2")
    for shape in list(master.placeholders):
        if (index := shape.placeholder_format.idx) in (2, 3):  # date and footer
            shape.element.getparent().remove(shape.element)
        else:
            _place(shape, {0: TITLE, 1: BODY, 4: _NUMBER}[index])
        if shape.placeholder_format.idx == 0:
            shape.text_frame.margin_left = 0
    _add_line(master.shapes, Box(left=MARGIN, top=TITLE.top + TITLE.height + 4, width=60, height=3))
    cover, body = presentation.slide_layouts
    for layout in (cover, body):
        for shape in list(layout.placeholders):
            if shape.placeholder_format.idx in (10, 11) or (
                layout is cover and shape.placeholder_format.idx in (1, 12)
            ):
                shape.element.getparent().remove(shape.element)
    cover.element.set("showMasterSp", "0")
    cover.background.fill.solid()
    cover.background.fill.fore_color.rgb = rgb(_DARK)
    title = cover.placeholders[0]
    _place(title, _COVER_TITLE)
    title.text_frame.paragraphs[0].runs[0].font.size = Pt(40)
    _write_list_style(title, size=40, colour="FFFFFF")
    _add_line(cover.shapes, Box(left=80, top=366, width=90, height=4))


def add_number(slide: Any) -> None:
    """Add the placeholder of the slide's number, which the library leaves in the layout."""
    for shape in slide.slide_layout.placeholders:
        if shape.placeholder_format.idx == 12:
            slide.shapes._spTree.append(deepcopy(shape.element))


def rgb(colour: str) -> RGBColor:
    """Return six hexadecimal digits as a colour."""
    return RGBColor(*bytes.fromhex(colour))  # type: ignore[no-untyped-call]


def _place(shape: Any, box: Box) -> None:
    shape.left, shape.top, shape.width, shape.height = map(Pt, (box.left, box.top, box.width, box.height))


def _colour(part: Any) -> None:
    """Replace fonts and colours of the theme."""
    theme = etree.fromstring(part.blob)
    colours = {f"accent{index}": colour for index, colour in enumerate(COLOURS, 1)} | {"dk2": _DARK, "hlink": ACCENT}
    for name, colour in colours.items():
        theme.find(f".//{qn('a:' + name)}/{qn('a:srgbClr')}").set("val", colour)
    for font in ("majorFont", "minorFont"):
        theme.find(f".//{qn('a:' + font)}/{qn('a:latin')}").set("typeface", _FONT)
    part._blob = etree.tostring(theme, xml_declaration=True, encoding="UTF-8", standalone=True)


def _write_list_style(shape: Any, *, size: int, colour: str) -> None:
    style = shape.text_frame._txBody.find(qn("a:lstStyle"))
    style.clear()
    level = etree.SubElement(style, qn("a:lvl1pPr"), algn="l")
    letters = etree.SubElement(level, qn("a:defRPr"), sz=str(size * 100), b="1")
    etree.SubElement(etree.SubElement(letters, qn("a:solidFill")), qn("a:srgbClr"), val=colour)


def _add_line(shapes: Any, box: Box) -> None:
    """Add a filled rectangle in the colour of accents. Masters and layouts have no method for it."""
    left, top, width, height = (int(Pt(value)) for value in (box.left, box.top, box.width, box.height))
    shapes._spTree.append(
        etree.fromstring(
            f"""<p:sp xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><p:nvSpPr><p:cNvPr id="900" name="Line"/><p:cNvSpPr/>
<p:nvPr userDrawn="1"/></p:nvSpPr><p:spPr><a:xfrm><a:off x="{left}" y="{top}"/>
<a:ext cx="{width}" cy="{height}"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom>
<a:solidFill><a:schemeClr val="accent1"/></a:solidFill><a:ln><a:noFill/></a:ln></p:spPr></p:sp>"""
        )
    )

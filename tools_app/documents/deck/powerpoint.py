"""A deck as a PowerPoint file."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE, XL_LABEL_POSITION, XL_LEGEND_POSITION, XL_TICK_LABEL_POSITION
from pptx.enum.text import PP_ALIGN
from pptx.oxml.ns import qn
from pptx.util import Pt

from tools_app.documents.deck import theme
from tools_app.documents.deck.blocks import SlideLine, SlideTable, TextRun
from tools_app.documents.deck.chart import COLOURS, Chart
from tools_app.documents.deck.deck import Slide
from tools_app.documents.deck.layout import (
    CODE_PADDING,
    CODE_SIZE,
    HEADING_SIZE,
    INDENT,
    Box,
    Layout,
    PlacedGroup,
    column_widths,
    row_heights,
)

_CHART_TYPES = {
    "bar": XL_CHART_TYPE.BAR_CLUSTERED,
    "column": XL_CHART_TYPE.COLUMN_CLUSTERED,
    "line": XL_CHART_TYPE.LINE_MARKERS,
    "pie": XL_CHART_TYPE.PIE,
}
_ALIGNMENTS = {"right": PP_ALIGN.RIGHT, "center": PP_ALIGN.CENTER}


def powerpoint(title: str, slides: Sequence[tuple[Slide, Layout]], pictures: dict[int, bytes]) -> bytes:
    """Return the file. `pictures` are the files of pictures by the position of their slide."""
    presentation = Presentation()
    theme.apply(presentation)
    presentation.core_properties.title = title
    cover = presentation.slides.add_slide(presentation.slide_layouts[theme.COVER])
    cover.shapes.title.text = title
    for position, (slide, layout) in enumerate(slides):
        _add_slide(presentation, slide, layout, pictures.get(position))
    out = BytesIO()
    presentation.save(out)
    return out.getvalue()


def _add_slide(presentation: Any, slide: Slide, layout: Layout, picture: bytes | None) -> None:
    new_slide = presentation.slides.add_slide(presentation.slide_layouts[theme.TITLE_AND_BODY])
    new_slide.shapes.title.text_frame.text = slide.title
    _set_size(new_slide.shapes.title.text_frame, layout.title_size)
    body, is_free = new_slide.placeholders[1], True
    for group in layout.groups:
        if isinstance(group.blocks[0], SlideTable):
            _add_table(new_slide, group.blocks[0], group.box, layout.size)
            continue
        is_plain = group.blocks[0].kind not in ("code", "quote")
        shape = body if is_free and is_plain else new_slide.shapes.add_textbox(0, 0, 0, 0)
        is_free = is_free and shape is not body
        _place(shape, group.box)
        _write_lines(new_slide, shape, group, layout.size)
    if is_free:
        body.element.getparent().remove(body.element)
    if picture and layout.picture and slide.image:
        shape = new_slide.shapes.add_picture(BytesIO(picture), 0, 0)
        _place(shape, layout.picture)
        shape.name = slide.image.name
    if slide.chart and layout.picture:
        _add_chart(new_slide, slide.chart, layout.picture)
    if slide.notes:
        new_slide.notes_slide.notes_text_frame.text = slide.notes
    theme.add_number(new_slide)


def _place(shape: Any, box: Box) -> None:
    shape.left, shape.top, shape.width, shape.height = map(Pt, (box.left, box.top, box.width, box.height))


def _set_size(frame: Any, size: float) -> None:
    for paragraph in frame.paragraphs:
        for run in paragraph.runs:
            run.font.size = Pt(size)


def _write_lines(slide: Any, shape: Any, group: PlacedGroup, size: int) -> None:
    frame = shape.text_frame
    frame.word_wrap = True
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
    kind = group.blocks[0].kind if isinstance(group.blocks[0], SlideLine) else ""
    if kind == "code":
        shape.fill.solid()
        shape.fill.fore_color.rgb = theme.rgb(theme.CODE_BACKGROUND)
        frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = Pt(CODE_PADDING)
    if kind == "quote":
        frame.margin_left = Pt(2 * CODE_PADDING)
        bar = slide.shapes.add_shape(1, *map(Pt, (group.box.left, group.box.top, 4, group.box.height)))
        bar.fill.solid()
        bar.fill.fore_color.rgb = theme.rgb(theme.ACCENT)
        bar.line.fill.background()
        bar.name = "Quotation"
    lines = [block for block in group.blocks if isinstance(block, SlideLine)]
    for index, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if index == 0 else frame.add_paragraph()
        letters = size * {"code": CODE_SIZE, "heading": HEADING_SIZE}.get(line.kind, 1)
        _indent(paragraph, line, size)
        paragraph.space_before = Pt(0)
        paragraph.space_after = Pt(0 if line.kind == "code" else size * 0.45)
        _write_runs(paragraph, line.runs, letters)
        for run in paragraph.runs:
            run.font.bold = run.font.bold or (line.kind == "heading" or None)
            run.font.italic = run.font.italic or (line.kind == "quote" or None)


def _indent(paragraph: Any, line: SlideLine, size: int) -> None:
    """Set the level, and a bullet or a number hanging before the text."""
    is_item = line.has_bullet or line.number is not None
    paragraph.level = min(line.level, 8)
    properties = paragraph._p.get_or_add_pPr()
    depth = line.level + is_item
    properties.set("marL", str(int(Pt(INDENT * size * depth))))
    properties.set("indent", str(-int(Pt(INDENT * size)) if is_item else 0))
    if line.number is not None:
        mark = properties.makeelement(qn("a:buAutoNum"), {"type": "arabicPeriod", "startAt": str(line.number)})
    elif line.has_bullet:
        mark = properties.makeelement(qn("a:buChar"), {"char": "–" if line.level % 2 else "•"})
    else:
        mark = properties.makeelement(qn("a:buNone"), {})
    properties.append(mark)


def _write_runs(paragraph: Any, runs: Sequence[TextRun], size: float) -> None:
    for text_run in runs:
        if text_run.text == "\n":
            paragraph.add_line_break()
            continue
        run = paragraph.add_run()
        run.text = text_run.text
        run.font.size = Pt(size)
        run.font.bold, run.font.italic = text_run.is_bold or None, text_run.is_italic or None
        if text_run.is_code:
            run.font.name = theme.CODE_FONT
        if text_run.is_struck:
            run.font._element.set("strike", "sngStrike")
        if text_run.link:
            run.hyperlink.address = text_run.link


def _add_table(slide: Any, table: SlideTable, box: Box, size: int) -> None:
    widths, heights = column_widths(table, size, box.width), row_heights(table, size, box.width)
    graphic = slide.shapes.add_table(
        len(heights), len(widths), *map(Pt, (box.left, box.top, sum(widths), sum(heights)))
    )
    for column, width in zip(graphic.table.columns, widths, strict=True):
        column.width = Pt(width)
    for index, (row, height) in enumerate(zip(table.rows, heights, strict=True)):
        graphic.table.rows[index].height = Pt(height)
        for position, (runs, alignment) in enumerate(zip(row, table.alignments, strict=False)):
            cell = graphic.table.cell(index, position)
            cell.margin_top = cell.margin_bottom = Pt(4)
            paragraph = cell.text_frame.paragraphs[0]
            paragraph.alignment = _ALIGNMENTS.get(alignment)
            _write_runs(paragraph, runs, size)
            for run in paragraph.runs:
                run.font.bold = run.font.bold or (index == 0 or None)


def _add_chart(slide: Any, chart: Chart, box: Box) -> None:
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = chart.categories
    for series in chart.series[:1] if chart.type == "pie" else chart.series:
        data.add_series(series.name or "Value", series.values)
    frame = slide.shapes.add_chart(_CHART_TYPES[chart.type], *map(Pt, (box.left, box.top, box.width, box.height)), data)
    native = frame.chart
    native.font.size = Pt(14)
    native.has_title = False
    native.has_legend = chart.has_legend
    if chart.has_legend:
        native.legend.position, native.legend.include_in_layout = XL_LEGEND_POSITION.TOP, False
    plot = native.plots[0]
    if chart.has_labels:
        plot.has_data_labels = True
        plot.data_labels.show_value = True
        plot.data_labels.show_percentage = chart.type == "pie"
        plot.data_labels.position = XL_LABEL_POSITION.OUTSIDE_END
    if chart.type == "pie":
        for index, _ in enumerate(chart.categories):
            _paint(plot.series[0].points[index].format, index)
        return
    for index, series in enumerate(plot.series):
        if chart.type == "line":
            series.smooth = False
            series.format.line.color.rgb = theme.rgb(COLOURS[index % len(COLOURS)])
        else:
            _paint(series.format, index)
    native.value_axis.major_gridlines.format.line.color.rgb = theme.rgb("D5DAE1")
    native.value_axis.format.line.fill.background()
    if min(value for series in chart.series for value in series.values) >= 0:
        native.value_axis.minimum_scale = 0
    if chart.type != "line":
        plot.gap_width = 50
    if chart.type == "bar":  # the first category on top, as in the text
        native.category_axis.reverse_order = True
        native.value_axis.tick_label_position = XL_TICK_LABEL_POSITION.HIGH


def _paint(format: Any, index: int) -> None:
    format.fill.solid()
    format.fill.fore_color.rgb = theme.rgb(COLOURS[index % len(COLOURS)])

"""Tests of the tool `slides`, called as a model calls it."""

import base64
import re
from collections.abc import Awaitable, Callable
from html.parser import HTMLParser
from io import BytesIO
from typing import Any

import pytest
from pptx import Presentation
from pptx.enum.text import PP_ALIGN
from pypdfium2 import PdfDocument  # type: ignore[import-untyped]

from tests.pictures import picture, with_wrong_checksums
from tools_app.contract import Danger, ToolResult, registry
from tools_app.errors import InvalidArguments, ToolError
from tools_app.files import Workspace

Call = Callable[..., Awaitable[ToolResult]]
DECK = [
    {"title": "Why <b>bees</b>", "body": "- They **fly**\n  - far\n- They rest\n\n| a | b |\n|---|---|\n| 1 | 2 |"},
    {"title": "Where", "body": "See [here](https://a.example)", "notes": "Say </aside> slowly", "image": "bee.png"},
]


@pytest.fixture(autouse=True)
def _bee(workspace: Workspace) -> None:
    workspace.write_bytes("bee.png", picture(80, 60))


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.found if tag == name]


def test_it_is_moderate() -> None:
    assert registry.get("slides").danger is Danger.MODERATE


async def test_html_is_self_contained(call: Call, workspace: Workspace) -> None:
    result = await call("slides", title="Bees & co", slides=DECK, path="out/bees.html")
    assert result.content.startswith("Made out/bees.html: 2 slides and a cover")
    assert result.metadata == {"pages": ["Why <b>bees</b>", "Where"], "preview": "out/bees.html"}
    html = workspace.read_bytes("out/bees.html").decode()
    tags = Tags(html)
    assert len(tags.of("section")) == 3
    assert (tags.of("strong"), len(tags.of("td"))) == ([{}], 2)
    (image,) = tags.of("img")
    assert image["src"] == "data:image/png;base64," + base64.b64encode(picture(80, 60)).decode()
    assert "@media print" in html
    assert "default-src 'none'" in html


async def test_text_is_escaped_and_loads_nothing(call: Call, workspace: Workspace) -> None:
    hostile = (
        '<script>alert(1)</script> ![x](https://evil.example/p.png) [y](javascript:alert(1)) <img src=x onerror="a()">'
    )
    slide = {"title": hostile, "body": hostile, "notes": hostile}
    await call("slides", title=hostile, slides=[slide], path="a.html")
    tags = Tags(workspace.read_bytes("a.html").decode())
    assert (tags.of("script"), tags.of("img")) == ([], [])
    links = [attributes.get("href") or "" for attributes in tags.of("a")]
    assert not [link for link in links if not link.startswith("https://")]
    assert not [name for _, attributes in tags.found for name in attributes if name.startswith("on")]


async def test_powerpoint_has_text_levels_pictures_and_notes(call: Call, workspace: Workspace) -> None:
    result = await call("slides", title="Bees", slides=DECK, path="bees.PPTX")
    assert "preview" not in result.metadata
    deck = Presentation(BytesIO(workspace.read_bytes("bees.PPTX")))
    cover, why, where = deck.slides
    assert cover.shapes.title.text == "Bees"
    lines = [(line.text, line.level) for line in why.placeholders[1].text_frame.paragraphs][:3]
    assert lines == [("They fly", 0), ("far", 1), ("They rest", 0)]
    assert where.notes_slide.notes_text_frame.text == "Say </aside> slowly"
    (shown,) = [shape for shape in where.shapes if hasattr(shape, "image")]
    assert shown.image.blob == picture(80, 60)
    assert shown.left + shown.width <= deck.slide_width
    plain, link = where.placeholders[1].text_frame.paragraphs[0].runs
    assert (plain.text, link.text, link.hyperlink.address) == ("See ", "here", "https://a.example")


RICH = """Plain **bold** *leaning* `code()` ~~old~~

3. third
4. fourth
   - inner

> A quotation

```
def f():
    pass
```

| Quarter | Sum |
|---|---:|
| Q1 | **113.9** |
"""


def powerpoint(workspace: Workspace, path: str = "a.pptx") -> Any:
    return Presentation(BytesIO(workspace.read_bytes(path)))


async def test_powerpoint_keeps_emphasis_lists_quotations_code_and_tables(call: Call, workspace: Workspace) -> None:
    await call("slides", title="T", slides=[{"title": "Rich", "body": RICH}], path="a.pptx")
    slide = powerpoint(workspace).slides[1]
    frames = [shape.text_frame for shape in slide.shapes if shape.has_text_frame]
    paragraphs = [paragraph for frame in frames for paragraph in frame.paragraphs]
    runs = {run.text: run for paragraph in paragraphs for run in paragraph.runs}
    assert runs["bold"].font.bold
    assert runs["leaning"].font.italic
    assert runs["code()"].font.name == "Courier New"
    assert runs["A quotation"].font.italic
    assert runs["    pass"].font.name == "Courier New"
    assert runs["old"].font._element.get("strike") == "sngStrike"
    marks = {paragraph.text: paragraph._p.xpath("a:pPr/a:buAutoNum/@startAt") for paragraph in paragraphs}
    assert (marks["third"], marks["fourth"], marks["inner"]) == (["3"], ["4"], [])
    (table,) = [shape.table for shape in slide.shapes if shape.has_table]
    assert [[cell.text for cell in row.cells] for row in table.rows] == [["Quarter", "Sum"], ["Q1", "113.9"]]
    assert table.cell(1, 1).text_frame.paragraphs[0].alignment == PP_ALIGN.RIGHT
    assert not [paragraph.text for paragraph in paragraphs if {*"*|`>~"} & {*paragraph.text}]
    assert slide.shapes._spTree.xpath(".//a:fld[@type='slidenum']")


@pytest.mark.parametrize("series", [{"2024": [1, 2], "2025": [3, 4.5]}, [{"name": "2024", "values": [1, 2]}], [1, 2]])
@pytest.mark.parametrize("kind", ["bar", "column", "line", "pie"])
async def test_charts_are_native_and_drawn_in_html(call: Call, workspace: Workspace, kind: str, series: Any) -> None:
    chart = {"type": kind, "categories": ["North", "South"], "series": series}
    slides = [{"title": "A", "body": "- why", "chart": chart}]
    await call("slides", title="T", slides=slides, path="a.pptx")
    (native,) = [shape.chart for shape in powerpoint(workspace).slides[1].shapes if shape.has_chart]
    assert [*native.plots[0].categories] == ["North", "South"]
    assert [*native.plots[0].series[0].values] == [1, 2]
    await call("slides", title="T", slides=slides, path="a.html")
    html = workspace.read_bytes("a.html").decode()
    assert "North</text>" in html or (kind == "pie" and ">North<" in html)


@pytest.mark.parametrize(
    "chart",
    [
        {"type": "radar", "categories": ["a"], "series": [1]},
        {"type": "bar", "categories": [], "series": []},
        {"type": "bar", "categories": ["a"], "series": {"x": [1, 2]}},
        {"type": "bar", "categories": ["a"], "series": {"x": ["many"]}},
        {"type": "pie", "categories": ["a"], "series": [0]},
        {"type": "line", "categories": ["a"]},
    ],
)
async def test_invalid_chart_is_refused(call: Call, chart: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        await call("slides", title="T", slides=[{"title": "A", "chart": chart}], path="a.html")


async def test_text_is_shrunk_and_what_does_not_fit_is_counted(call: Call, workspace: Workspace) -> None:
    bodies = ["- few", "\n".join(["- a point"] * 12), "\n".join(["- a point"] * 40)]
    result = await call("slides", title="T", slides=[{"title": "A", "body": body} for body in bodies], path="a.pptx")
    _, *warnings = result.content.splitlines()
    assert len(warnings) == 1
    assert re.fullmatch(r"slide 3: 40 points do not fit, 1\d do", warnings[0])
    sizes = [
        slide.placeholders[1].text_frame.paragraphs[0].runs[0].font.size.pt
        for slide in [*powerpoint(workspace).slides][1:]
    ]
    assert sizes[0] > sizes[1] > sizes[2] >= 14


@pytest.mark.parametrize("path", ["a.html", "a.pptx"])
async def test_missing_picture_is_named(call: Call, path: str) -> None:
    slides = [{"title": "A"}, {"title": "B", "image": "no.png"}]
    result = await call("slides", title="T", slides=slides, path=path)
    assert "slide 2: no.png is not in the workspace" in result.content


async def test_everything_lies_within_the_slide(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("wide.png", picture(900, 100))
    slides = [*DECK, {"title": "R", "body": RICH, "image": "wide.png"}, {"title": "W", "image": "wide.png"}]
    await call("slides", title="T", slides=slides, path="a.pptx")
    deck = powerpoint(workspace)
    for slide in deck.slides:
        for shape in slide.shapes:
            assert 0 <= shape.left <= shape.left + shape.width <= deck.slide_width
            assert 0 <= shape.top <= shape.top + shape.height <= deck.slide_height


@pytest.mark.parametrize(
    "changed",
    [{"path": "a.odp"}, {"slides": []}, {"slides": [{"body": "x"}]}, {"title": ""}, {"slides": [{"title": 1}]}],
)
async def test_wrong_arguments_are_refused(call: Call, changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        await call("slides", **{"title": "T", "slides": [{"title": "A"}], "path": "a.html"} | changed)


@pytest.mark.parametrize("path", ["a.html", "a.pptx"])
async def test_invalid_picture_is_named(call: Call, workspace: Workspace, path: str) -> None:
    workspace.write_bytes("no.png", b"no picture")
    with pytest.raises(ToolError, match=r"no\.png is not a PNG"):
        await call("slides", title="T", slides=[{"title": "A", "image": "no.png"}], path=path)
    workspace.write_bytes("broken.png", b"\x89PNG\r\n\x1a\nbroken")
    if path == "a.pptx":
        with pytest.raises(ToolError, match="cannot be used"):
            await call("slides", title="T", slides=[{"title": "A", "image": "broken.png"}], path=path)


async def test_wrong_checksum_outside_the_pixels_is_accepted(call: Call, workspace: Workspace) -> None:
    workspace.write_bytes("bee.png", with_wrong_checksums())
    made = await call("slides", title="Bees", slides=DECK, path="a.pptx")
    assert made.content.startswith("Made a.pptx")


async def test_pdf_shows_the_same_text_at_a_page_for_each_slide(call: Call, workspace: Workspace) -> None:
    chart = {"type": "bar", "categories": ["North"], "series": {"Sum": [12.5]}}
    slides = [*DECK, {"title": "R", "body": RICH}, {"title": "Chart", "chart": chart}]
    result = await call("slides", title="Bees", slides=slides, path="a.pdf")
    assert result.content.startswith("Made a.pdf: 4 slides and a cover")
    pages = [page.get_textpage().get_text_range() for page in PdfDocument(workspace.read_bytes("a.pdf"))]
    assert len(pages) == 5
    assert "Why <b>bees</b>" in pages[1]
    assert all(words in pages[3] for words in ("bold", "3. third", "A quotation", "pass", "113.9"))
    assert "North" in pages[4]
    assert "12.5" in pages[4]

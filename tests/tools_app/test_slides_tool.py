"""Tests of the tool `slides`, called as a model calls it."""

import base64
from collections.abc import Awaitable, Callable
from html.parser import HTMLParser
from io import BytesIO
from typing import Any

import pytest
from pptx import Presentation

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
    assert where.placeholders[1].text_frame.text == "See here (https://a.example)"


@pytest.mark.parametrize(
    "changed",
    [{"path": "a.pdf"}, {"slides": []}, {"slides": [{"body": "x"}]}, {"title": ""}, {"slides": [{"title": 1}]}],
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

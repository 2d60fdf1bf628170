"""A deck as a PowerPoint file, made in a child process: the library is heavy, and pictures can be hostile."""

import base64
import re
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from PIL import ImageFile
from pptx import Presentation
from pptx.util import Emu

_COVER, _TITLE_AND_BODY = 0, 1  # layouts of the library's default template
_BULLET = re.compile(r"(?P<indent>\s*)(?P<bullet>[-*+]|\d+[.)])\s+(?P<text>.*)")
_EMPHASIS = re.compile(r"(\*\*|__|`)(.+?)\1")
_LINK = re.compile(r"\[([^\[\]]*+)\]\(([^)\s\[]*+)\)")
_MAX_LEVEL = 4


def answer(request: Mapping[str, Any], body: bytes) -> dict[str, str]:
    """Return the file of a Deck in the form of `asdict`, or an error as a sentence.

    {"title", "slides"} → {"data"} or {"error"}
    """
    ImageFile.LOAD_TRUNCATED_IMAGES = True  # only the header of a picture is read, so damaged data does not matter
    presentation: Any = Presentation()
    presentation.core_properties.title = request["title"]
    presentation.slide_width, presentation.slide_height = Emu(12_192_000), Emu(6_858_000)  # 16:9
    cover = presentation.slides.add_slide(presentation.slide_layouts[_COVER])
    _place(cover.shapes.title, presentation, top=0.35, height=0.3)
    cover.shapes.title.text = request["title"]
    cover.placeholders[1].element.getparent().remove(cover.placeholders[1].element)
    try:
        for slide in request["slides"]:
            _add_slide(presentation, slide)
    except (ValueError, OSError, SyntaxError) as error:  # errors of the picture decoders
        return {"error": f"A picture cannot be used: {error}."}
    out = BytesIO()
    presentation.save(out)
    return {"data": base64.b64encode(out.getvalue()).decode()}


def _add_slide(presentation: Any, slide: Mapping[str, Any]) -> None:
    new_slide = presentation.slides.add_slide(presentation.slide_layouts[_TITLE_AND_BODY])
    new_slide.shapes.title.text = slide["title"]
    _place(new_slide.shapes.title, presentation, top=0.05, height=0.15)
    body, image = new_slide.placeholders[1], slide["image"]
    _place(body, presentation, top=0.24, height=0.68, width=0.44 if image else 0.9)
    _write_body(body.text_frame, slide["body"])
    if image:
        _add_picture(new_slide, presentation, base64.b64decode(image["data"]), image["name"])
    if slide["notes"]:
        new_slide.notes_slide.notes_text_frame.text = slide["notes"]


def _place(shape: Any, presentation: Any, *, top: float, height: float, width: float = 0.9) -> None:
    """Set the position and size as fractions of the slide. The left margin is 5 %."""
    shape.left, shape.width = (int(presentation.slide_width * fraction) for fraction in (0.05, width))
    shape.top, shape.height = (int(presentation.slide_height * fraction) for fraction in (top, height))


def _write_body(frame: Any, body: str) -> None:
    """Write a paragraph for each line. Markdown's bullets become levels, and its other marks are removed."""
    lines = [line for line in body.splitlines() if line.strip()] or [""]
    frame.word_wrap = True
    for number, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        bullet = _BULLET.fullmatch(line)
        text = bullet["text"] if bullet else line.strip().lstrip("#").strip()
        paragraph.text = _LINK.sub(r"\1 (\2)", _EMPHASIS.sub(r"\2", text))
        paragraph.level = min(len(bullet["indent"]) // 2, _MAX_LEVEL) if bullet else 0


def _add_picture(slide: Any, presentation: Any, data: bytes, name: str) -> None:
    """Add the picture to the right half, as large as it fits."""
    picture = slide.shapes.add_picture(BytesIO(data), 0, 0)
    max_width, max_height = presentation.slide_width * 0.44, presentation.slide_height * 0.68
    scale = min(max_width / picture.width, max_height / picture.height)
    picture.width, picture.height = int(picture.width * scale), int(picture.height * scale)
    picture.left = int(presentation.slide_width * 0.51 + (max_width - picture.width) / 2)
    picture.top = int(presentation.slide_height * 0.24 + (max_height - picture.height) / 2)
    picture.name = name

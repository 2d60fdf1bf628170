"""The file of a deck, made in a child process: libraries are heavy, and pictures can be hostile."""

import base64
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

from PIL import Image as Picture
from PIL import ImageFile, ImageOps
from pydantic import TypeAdapter

from tools_app.documents.deck.blocks import blocks_of
from tools_app.documents.deck.chart import PROPORTIONS
from tools_app.documents.deck.deck import Deck, Image, Slide
from tools_app.documents.deck.layout import TITLE, TITLE_SIZES, Layout, layout_of, wrapped_lines

_MAX_SHOWN = 20  # characters
_ORIENTATION = 0x0112  # of photographs


def answer(request: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """Return the file of a Deck in the form of `asdict`, and sentences on text that does not fit.

    {"deck", "format": "html", "pptx" or "pdf"} → {"data", "warnings"} or {"error"}
    """
    ImageFile.LOAD_TRUNCATED_IMAGES = True  # only the header of a picture is read, so damaged data does not matter
    deck = TypeAdapter(Deck).validate_python(request["deck"])
    slides: list[tuple[Slide, Layout]] = []
    pictures: dict[int, bytes] = {}
    for position, slide in enumerate(deck.slides):
        picture_size: tuple[float, float] | None = PROPORTIONS if slide.chart else None
        if slide.image:
            try:
                pictures[position], picture_size = _picture(slide.image, request["format"])
            except (ValueError, OSError, SyntaxError) as error:  # errors of the picture decoders
                return {"error": f"A picture cannot be used: {slide.image.name}: {error}."}
        slides.append((slide, layout_of(slide.title, blocks_of(slide.body), picture_size)))
    warnings = list(_warnings(slides))
    if request["format"] == "pdf":
        from tools_app.documents.deck.pdf import pdf

        data, missing = pdf(deck.title, slides, pictures)
        if missing:
            warnings.append(f"no font here has these characters, which stay blank: {missing[:_MAX_SHOWN]}")
    elif request["format"] == "html":
        from tools_app.documents.deck.page import page

        data = page(deck.title, slides, pictures)
    else:
        from tools_app.documents.deck.powerpoint import powerpoint

        data = powerpoint(deck.title, slides, pictures)
    return {"data": base64.b64encode(data).decode(), "warnings": warnings}


def _picture(image: Image, format: str) -> tuple[bytes, tuple[float, float]]:
    """Return the file of a picture and its size. Files other than HTML get PNG for WebP, and upright photographs."""
    data = base64.b64decode(image.data)
    with Picture.open(BytesIO(data)) as picture:
        is_turned = picture.getexif().get(_ORIENTATION, 1) != 1
        if not is_turned and (format == "html" or image.media_type != "image/webp"):
            return data, picture.size
        upright = ImageOps.exif_transpose(picture)
        if format != "html":
            out = BytesIO()
            upright.save(out, "JPEG" if image.media_type == "image/jpeg" else "PNG")
            data = out.getvalue()
        return data, upright.size


def _warnings(slides: list[tuple[Slide, Layout]]) -> Iterator[str]:
    for number, (slide, layout) in enumerate(slides, 1):
        if layout.fitting_points < layout.points:
            yield f"slide {number}: {layout.points} points do not fit, {layout.fitting_points} do"
        if wrapped_lines(slide.title, TITLE_SIZES[-1], TITLE.width) > 2:
            yield f"slide {number}: the title does not fit in two lines"

"""The tool `slides`, which makes a deck of slides."""

import asyncio
import base64
from dataclasses import asdict
from io import BytesIO

from pydantic import Field, field_validator

from tools_app.child_process.parent import NoAnswer, answer_of
from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool
from tools_app.documents.deck.page import Deck, Image, Slide, page
from tools_app.errors import ToolError
from tools_app.files import Workspace, in_units, picture_type

_MAX_SLIDES = 100  # slides
_MAX_BODY = 5_000  # characters
_MAX_IMAGE = 5 * 1000**2
_MAX_IMAGES = 30 * 1000**2  # in total


class SlideArguments(Arguments):
    title: str = Field(max_length=300, description="Its heading.")
    body: str = Field("", max_length=_MAX_BODY, description="Markdown, a few short lines.")
    notes: str = Field("", max_length=_MAX_BODY, description="For the speaker.")
    image: str | None = Field(None, min_length=1, description="A picture of the workspace.")


class SlidesArguments(Arguments):
    title: str = Field(min_length=1, max_length=300, description="Of the deck.")
    slides: list[SlideArguments] = Field(
        min_length=1, max_length=_MAX_SLIDES, description="In order, one thought each."
    )
    path: str = Field(min_length=1, description="Ends in .html or .pptx.")

    @field_validator("path")
    @classmethod
    def _names_a_deck(cls, value: str) -> str:
        if not value.lower().endswith((".html", ".pptx")):
            raise ValueError("it must end in .html or .pptx")
        return value


@tool(
    name="slides",
    description="Makes a deck of slides as HTML or PowerPoint.",
    arguments=SlidesArguments,
    danger=Danger.MODERATE,
    target=Target.ENGINE,
    compact_template="slides {path}: {title}",
    activity={"": "made the slides {path}|made # decks of slides"},
)
async def slides(arguments: SlidesArguments, context: ToolContext) -> ToolResult:
    deck = await asyncio.to_thread(_deck, arguments, context.workspace)
    is_page = arguments.path.lower().endswith(".html")
    data = (await asyncio.to_thread(page, deck)).encode() if is_page else await _powerpoint(deck)
    await asyncio.to_thread(context.workspace.write_bytes, arguments.path, data)
    return ToolResult(
        content=f"Made {arguments.path}: {len(deck.slides)} slides and a cover, {in_units(len(data))}.",
        metadata={"pages": [slide.title for slide in deck.slides]} | ({"preview": arguments.path} if is_page else {}),
    )


def _deck(arguments: SlidesArguments, workspace: Workspace) -> Deck:
    slides = [Slide(**item.model_dump() | {"image": _image(item.image, workspace)}) for item in arguments.slides]
    if sum(len(slide.image.data) * 3 // 4 for slide in slides if slide.image) > _MAX_IMAGES:
        raise ToolError(f"The pictures are larger than {in_units(_MAX_IMAGES)} in total. Make them smaller.")
    return Deck(title=arguments.title, slides=tuple(slides))


def _image(path: str | None, workspace: Workspace) -> Image | None:
    if path is None:
        return None
    data = workspace.read_bytes(path, _MAX_IMAGE)
    if not (media_type := picture_type(BytesIO(data))):
        raise ToolError(f"{path} is not a PNG, JPEG, WebP or GIF file.")
    return Image(name=path.rpartition("/")[2], media_type=media_type, data=base64.b64encode(data).decode())


async def _powerpoint(deck: Deck) -> bytes:
    if unsupported := [
        slide.image.name for slide in deck.slides if slide.image and slide.image.media_type == "image/webp"
    ]:
        raise ToolError(f"PowerPoint does not support WebP: {', '.join(unsupported)}. Convert it to PNG first.")
    try:
        answer = await answer_of("tools_app.documents.deck.powerpoint", asdict(deck))
    except NoAnswer as error:
        raise ToolError("The deck is too large. Use fewer or smaller pictures.") from error
    if "error" in answer:
        raise ToolError(answer["error"])
    return base64.b64decode(answer["data"])

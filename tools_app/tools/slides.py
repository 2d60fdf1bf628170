"""The tool `slides`, which makes a deck of slides."""

import asyncio
import base64
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from io import BytesIO
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema, field_validator, model_validator

from tools_app.child_process.parent import NoAnswer, answer_of
from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool
from tools_app.documents.deck.chart import Chart, ChartSeries
from tools_app.documents.deck.deck import Deck, Image, Slide
from tools_app.errors import ToolError
from tools_app.files import Workspace, in_units, picture_type

_MAX_SLIDES = 100  # slides
_MAX_BODY = 5_000  # characters
_MAX_IMAGE = 5 * 1000**2
_CHART_TYPES = ("bar", "column", "line", "pie")
_MAX_CATEGORIES, _MAX_SERIES = 60, 12
_MAX_IMAGES = 30 * 1000**2  # in total


class SlideArguments(Arguments):
    title: str = Field(max_length=300, description="Heading.")
    body: str = Field("", max_length=_MAX_BODY, description="Markdown, short.")
    notes: str = Field("", max_length=_MAX_BODY, description="Speaker's.")
    image: str | None = Field(None, min_length=1, description="A picture.")
    chart: Annotated[dict[str, Any], WithJsonSchema({"type": "object"})] | None = Field(
        None, description="type bar|column|line|pie, categories, series"
    )

    @field_validator("chart")
    @classmethod
    def _can_be_drawn(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        if value is not None:
            _chart(value)
        return value

    @model_validator(mode="after")
    def _have_one_picture(self) -> "SlideArguments":
        if self.image and self.chart:
            raise ValueError("a slide has an image or a chart: make two slides")
        return self


class SlidesArguments(Arguments):
    title: str = Field(min_length=1, max_length=300, description="Of the deck.")
    slides: list[SlideArguments] = Field(min_length=1, max_length=_MAX_SLIDES, description="One thought each.")
    path: str = Field(min_length=1, description="Ends in .html, .pptx, .pdf.")

    @field_validator("path")
    @classmethod
    def _names_a_deck(cls, value: str) -> str:
        if not value.lower().endswith((".html", ".pptx", ".pdf")):
            raise ValueError("it must end in .html, .pptx or .pdf")
        return value


@tool(
    name="slides",
    description="Makes slides.",
    arguments=SlidesArguments,
    danger=Danger.MODERATE,
    target=Target.ENGINE,
    compact_template="slides {path}: {title}",
    activity={"": "made the slides {path}|made # decks of slides"},
)
async def slides(arguments: SlidesArguments, context: ToolContext) -> ToolResult:
    missing = [
        f"slide {number}: {item.image} is not in the workspace, so the slide has no picture"
        for number, item in enumerate(arguments.slides, 1)
        if item.image and not await asyncio.to_thread(context.workspace.is_file, item.image)
    ]
    deck = await asyncio.to_thread(_deck, arguments, context.workspace)
    suffix = arguments.path.lower().rpartition(".")[2]
    try:
        answer = await answer_of("tools_app.documents.deck.maker", {"deck": asdict(deck), "format": suffix})
    except NoAnswer as error:
        raise ToolError("The deck is too large. Use fewer or smaller pictures.") from error
    if "error" in answer:
        raise ToolError(answer["error"])
    data = base64.b64decode(answer["data"])
    await asyncio.to_thread(context.workspace.write_bytes, arguments.path, data)
    made = f"Made {arguments.path}: {len(deck.slides)} slides and a cover, {in_units(len(data))}."
    return ToolResult(
        content="\n".join([made, *missing, *answer["warnings"]]),
        metadata={"pages": [slide.title for slide in deck.slides]}
        | ({"preview": arguments.path} if suffix == "html" else {}),
    )


def _deck(arguments: SlidesArguments, workspace: Workspace) -> Deck:
    slides = tuple(
        Slide(
            title=item.title,
            body=item.body,
            notes=item.notes,
            image=_image(item.image, workspace) if item.image and workspace.is_file(item.image) else None,
            chart=_chart(item.chart) if item.chart else None,
        )
        for item in arguments.slides
    )
    if sum(len(slide.image.data) * 3 // 4 for slide in slides if slide.image) > _MAX_IMAGES:
        raise ToolError(f"The pictures are larger than {in_units(_MAX_IMAGES)} in total. Make them smaller.")
    return Deck(title=arguments.title, slides=slides)


def _image(path: str, workspace: Workspace) -> Image:
    data = workspace.read_bytes(path, _MAX_IMAGE)
    if not (media_type := picture_type(BytesIO(data))):
        raise ToolError(f"{path} is not a PNG, JPEG, WebP or GIF file.")
    return Image(name=path.rpartition("/")[2], media_type=media_type, data=base64.b64encode(data).decode())


def _chart(value: Mapping[str, Any]) -> Chart:
    """Read a chart. Its series are an object of names and numbers, a list of objects, or a list of numbers.

    Raises: ValueError with the reason.
    """
    if value.get("type") not in _CHART_TYPES:
        raise ValueError(f"type is one of {', '.join(_CHART_TYPES)}")
    categories = value.get("categories")
    if not isinstance(categories, list) or not 1 <= len(categories) <= _MAX_CATEGORIES:
        raise ValueError(f"categories are a list of 1 to {_MAX_CATEGORIES} names")
    series = tuple(_series(value.get("series"), len(categories)))
    if not 1 <= len(series) <= _MAX_SERIES:
        raise ValueError(f"series are 1 to {_MAX_SERIES}")
    if value["type"] == "pie" and (min(series[0].values) < 0 or not sum(series[0].values)):
        raise ValueError("a pie has no negative numbers, and some number above 0")
    return Chart(type=value["type"], categories=tuple(map(str, categories)), series=series)


def _series(value: Any, count: int) -> Iterator[ChartSeries]:
    if isinstance(value, dict):
        value = [{"name": name, "values": values} for name, values in value.items()]
    if isinstance(value, list) and value and not isinstance(value[0], dict | list):
        value = [value]
    for item in (
        item if isinstance(item, dict) else {"values": item} for item in (value if isinstance(value, list) else ())
    ):
        values = item.get("values", item.get("data"))
        if not isinstance(values, list) or len(values) != count:
            raise ValueError(f"series {item.get('name', '')!r} has a number for each of the {count} categories")
        try:
            numbers = tuple(float(number) for number in values)
        except (TypeError, ValueError) as error:
            raise ValueError(f"series {item.get('name', '')!r} has a value that is not a number") from error
        if not all(map(math.isfinite, numbers)):
            raise ValueError("numbers of a chart are finite")
        yield ChartSeries(name=str(item.get("name", "")), values=numbers)

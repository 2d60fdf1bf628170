"""A deck of slides, the request of the child process that makes its file."""

from dataclasses import dataclass

from tools_app.documents.deck.chart import Chart


@dataclass(frozen=True, kw_only=True)
class Image:
    """A picture from the workspace. `data` is base64."""

    name: str
    media_type: str
    data: str


@dataclass(frozen=True, kw_only=True)
class Slide:
    """A slide. `body` is Markdown."""

    title: str
    body: str = ""
    notes: str = ""
    image: Image | None = None
    chart: Chart | None = None


@dataclass(frozen=True, kw_only=True)
class Deck:
    title: str
    slides: tuple[Slide, ...]

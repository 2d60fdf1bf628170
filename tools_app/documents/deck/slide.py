"""A slide, in no format's words."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Image:
    """A picture as it stands in the workspace; `data` is base64."""

    name: str
    media_type: str
    data: str


@dataclass(frozen=True, kw_only=True)
class Slide:
    """`body` is Markdown."""

    title: str
    body: str = ""
    notes: str = ""
    image: Image | None = None


@dataclass(frozen=True, kw_only=True)
class Deck:
    title: str
    slides: tuple[Slide, ...]

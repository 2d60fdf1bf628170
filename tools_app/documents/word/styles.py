"""Styles of a Word document (ISO 29500-1, 17.7), as far as they change what is read."""

import re
from collections.abc import Iterator

from tools_app.documents.opendocument import Element, attribute, local_name
from tools_app.documents.word.fields import is_on

_HEADING = re.compile(r"(?:heading|berschrift|titre|titolo|kop|rubrik)\s?([1-9])", re.ASCII)
_MAX_HEADING = 6
_BODY_TEXT_LEVEL = 9  # w:outlineLvl of a paragraph that is no heading


def value(element: Element | None, path: str) -> str:
    """Return `w:val` of a descendant, or ""."""
    found = element.find(path) if element is not None else None
    return attribute(found, "val") if found is not None else ""


class Styles:
    """The styles by id. A document can name styles that it does not have."""

    def __init__(self, root: Element | None) -> None:
        styles = list(root.iterchildren("{*}style")) if root is not None else []
        self._styles = {attribute(style, "styleId"): style for style in styles}
        defaults = (
            style for style in styles if attribute(style, "type") == "paragraph" and attribute(style, "default")
        )
        self._default = next((attribute(style, "styleId") for style in defaults), "")

    def of_paragraph(self, properties: Element | None) -> str:
        """Return the id of a paragraph's style."""
        return value(properties, "{*}pStyle") or self._default

    def chain(self, style_id: str) -> Iterator[tuple[str, Element]]:
        """Yield the style and the styles that it is based on, with their ids."""
        seen: set[str] = set()
        while style_id in self._styles and style_id not in seen:
            seen.add(style_id)
            style = self._styles[style_id]
            yield style_id, style
            style_id = value(style, "{*}basedOn")

    def heading_level(self, properties: Element | None) -> int:
        """Return the level of a heading from 1 to 6, or 0. A title is of level 1."""
        outline = value(properties, "{*}outlineLvl")
        style_id = self.of_paragraph(properties)
        for _, style in self.chain(style_id):
            name = value(style, "{*}name").lower()
            if name == "title":
                return 1
            if heading := _HEADING.match(name):
                return min(int(heading[1]), _MAX_HEADING)
            outline = outline or value(style, "{*}pPr/{*}outlineLvl")
        if style_id not in self._styles and (heading := _HEADING.search(style_id.lower())):
            return min(int(heading[1]), _MAX_HEADING)
        is_heading = outline.isdecimal() and int(outline) < _BODY_TEXT_LEVEL
        return min(int(outline) + 1, _MAX_HEADING) if is_heading else 0

    def is_list(self, style_id: str) -> bool:
        """Return whether the style is a list by its name, for documents that define no numbers."""
        names = (value(style, "{*}name") for _, style in self.chain(style_id))
        return next(names, style_id).replace(" ", "").startswith(("ListBullet", "ListNumber"))

    def is_hidden(self, style_id: str) -> bool:
        """Return whether text in this style is hidden."""
        for _, style in self.chain(style_id):
            vanish = style.find("{*}rPr/{*}vanish")
            if vanish is not None:
                return is_on(vanish)
        return False

    def numbering_of_list_style(self, style_id: str) -> str:
        """Return the number of the list that a style of lists stands for, or ""."""
        return value(self._styles.get(style_id), "{*}pPr/{*}numPr/{*}numId")


def run_property(run: Element, name: str) -> Element | None:
    """Return a property of a run."""
    properties = run.find("{*}rPr")
    return properties.find(f"{{*}}{name}") if properties is not None else None


def font_of(run: Element) -> str:
    """Return the font of a run, as far as the run itself names one."""
    fonts = run_property(run, "rFonts") if local_name(run) == "r" else None
    return (attribute(fonts, "ascii") or attribute(fonts, "hAnsi")) if fonts is not None else ""

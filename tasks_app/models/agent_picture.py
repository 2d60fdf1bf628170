"""Pictures of agents: drawn from a mark or the first letters of the name, or uploaded and encoded anew."""

import hashlib
import zlib
from functools import cache, lru_cache
from io import BytesIO
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import models
from django.utils.html import escape

MARKS = {
    "search": "Lens",
    "tools": "Sliders",
    "chart": "Chart",
    "edit": "Pen",
    "panel": "Page",
    "question": "Question mark",
    "shield": "Shield",
    "inbox": "Inbox",
    "thought": "Thought",
    "folder": "Folder",
    "key": "Key",
    "branch": "Branch",
}
EDGE = 192  # pixels, of an uploaded one
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">'
    '<rect width="40" height="40" rx="11" fill="hsl({hue} 40% 40%)"/>{inside}</svg>'
)
_LETTERS = (
    '<text x="20" y="26" font-family="system-ui,sans-serif" font-size="16" font-weight="600" '
    'text-anchor="middle" fill="#fff">{}</text>'
)
_ICON = (
    '<g transform="translate(8 8)" fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" '
    'stroke-linejoin="round">{}</g>'
)


class AgentPicture(models.Model):
    """A PNG of 192 pixels at most, made by our own encoder from what was uploaded."""

    agent = models.OneToOneField("tasks_app.Agent", models.CASCADE, primary_key=True, related_name="uploaded_picture")
    png = models.BinaryField()

    class Meta:
        db_table = "agent_pictures"

    def __str__(self) -> str:
        return f"Picture of {self.agent}"

    @classmethod
    def small(cls, encoded: bytes) -> "AgentPicture":
        """Not saved yet. `encoded` is our own encoder's work: foreign bytes are decoded in a process of their own."""
        from PIL import Image

        with Image.open(BytesIO(encoded)) as picture:
            picture.thumbnail((EDGE, EDGE))
            picture.convert("RGBA").save(file := BytesIO(), "PNG")
        return cls(png=file.getvalue())

    def put(self, agent: Any) -> None:
        """In place of an earlier one."""
        self.agent = agent
        self.save(force_insert=not type(self).objects.filter(agent=agent).exists())
        agent.picture = hashlib.sha256(self.png).hexdigest()
        agent.save(update_fields=["picture"])


@lru_cache(maxsize=256)
def drawn(name: str, mark: str) -> str:
    """As a data URI: it costs no request. The same name has always the same colour."""
    words = name.split()
    letters = (words[0][:1] + words[1][:1] if len(words) > 1 else name[:2]).upper()
    inside = _ICON.format(_icons()[mark]) if mark in _icons() else _LETTERS.format(escape(letters))
    hue = zlib.crc32(name.encode()) % 360
    return "data:image/svg+xml," + quote(_SVG.format(hue=hue, inside=inside), safe=" =:/")


@cache
def _icons() -> dict[str, str]:
    text = (settings.BASE_DIR / "static" / "icons.svg").read_text()
    icons = {}
    for symbol in text.split('<symbol id="')[1:]:
        opening, _, inside = symbol.partition(">")
        icons[opening.partition('"')[0]] = inside.partition("</symbol>")[0]
    return icons

"""Pictures in chat completions: parts of a user's message, each behind a line that names it."""

from collections.abc import Sequence
from typing import Any

from llm_app.types import Picture


def with_pictures(message: dict[str, Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    """The message with its pictures. A result is text only: its pictures follow it, as a message of the role user."""
    if not pictures:
        return [message]
    parts = [part for picture in pictures for part in _parts(picture)]
    if message["role"] == "tool":
        return [message, {"role": "user", "content": parts}]
    words = [_text(message["content"])] if message["content"].strip() else []
    return [message | {"content": [*words, *parts]}]


def _parts(picture: Picture) -> list[dict[str, Any]]:
    url = f"data:{picture.media_type};base64,{picture.data}"
    return [_text(picture.label), {"type": "image_url", "image_url": {"url": url}}]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}

"""Pictures in Anthropic's messages: blocks of a user's message or of a result, each behind a line that names it."""

from typing import Any

from llm_app.types import Message


def picture_blocks(message: Message) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for picture in message.pictures:
        source = {"type": "base64", "media_type": picture.media_type, "data": picture.data}
        blocks += [{"type": "text", "text": picture.label}, {"type": "image", "source": source}]
    return blocks


def result_content(message: Message) -> str | list[dict[str, Any]]:
    """What stands in a result: its words alone, or with pictures; the protocol refuses empty words among these."""
    if not message.pictures:
        return message.content
    words = [{"type": "text", "text": message.content}] if message.content.strip() else []
    return [*words, *picture_blocks(message)]

"""A prompt that is no step of a conversation: kept whole before it is sent, and read again from its log."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import orjson

from llm_app.call import References, StoredPrompt
from llm_app.models import Blob
from llm_app.types import Message, Picture, Prompt, ToolSpec


def store_prompt(prompt: Prompt) -> StoredPrompt:
    """Its messages are words and pictures, redacted already; they are numbered, so that a log can name them."""
    messages = [replace(message, seq=number) for number, message in enumerate(prompt.messages, 1)]
    references = References(
        system_blob=Blob.keep(prompt.system),
        tools_blob=Blob.keep(tools_text(prompt.tools)) if prompt.tools else "",
        messages_blob=Blob.keep(json.dumps([_message_row(message) for message in messages], ensure_ascii=False)),
    )
    return StoredPrompt(prompt=replace(prompt, messages=messages), references=references)


def _message_row(message: Message) -> dict[str, object]:
    """Each picture is a blob of its own."""
    pictures = [{**asdict(picture), "data": Blob.keep(picture.data)} for picture in message.pictures]
    return {"role": message.role, "content": message.content, "pictures": pictures}


def picture_addresses(text: str) -> list[str]:
    """The addresses of the pictures in kept messages."""
    return [picture["data"] for message in json.loads(text) for picture in message["pictures"]]


def messages_in(text: str, pictures: dict[str, str]) -> list[Message]:
    """Kept messages as they were; `pictures` are the contents of their blobs, by address."""
    return [
        Message(
            role=message["role"],
            content=message["content"],
            pictures=tuple(Picture(**each | {"data": pictures[each["data"]]}) for each in message["pictures"]),
            seq=number,
        )
        for number, message in enumerate(json.loads(text), 1)
    ]


def tools_text(tools: Sequence[ToolSpec]) -> str:
    """A tool list as it is kept: in its order, and each schema in its own."""
    rows = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools]
    return orjson.dumps(rows).decode()


def tools_in(text: str) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(**row) for row in orjson.loads(text))

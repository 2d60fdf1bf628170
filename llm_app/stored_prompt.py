"""Prompts outside of conversations: stored completely before they are sent, and read back for their logs."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import orjson

from llm_app.call import References, StoredPrompt
from llm_app.models import Blob
from llm_app.types import Message, Picture, Prompt, ToolSpec


def store_prompt(prompt: Prompt) -> StoredPrompt:
    """Store a prompt of already redacted texts and pictures. Messages are numbered, so that a log can refer to them."""
    messages = [replace(message, seq=number) for number, message in enumerate(prompt.messages, 1)]
    references = References(
        system_blob=Blob.store(prompt.system),
        tools_blob=Blob.store(dump_tools(prompt.tools)) if prompt.tools else "",
        messages_blob=Blob.store(json.dumps([_stored_message(message) for message in messages], ensure_ascii=False)),
    )
    return StoredPrompt(prompt=replace(prompt, messages=messages), references=references)


def _stored_message(message: Message) -> dict[str, object]:
    """Return a message as JSON. Each picture is stored as its own blob."""
    pictures = [{**asdict(picture), "data": Blob.store(picture.data)} for picture in message.pictures]
    return {"role": message.role, "content": message.content, "pictures": pictures}


def picture_addresses(text: str) -> list[str]:
    """Return the blob addresses of the pictures in stored messages."""
    return [picture["data"] for message in json.loads(text) for picture in message["pictures"]]


def load_messages(text: str, pictures: dict[str, str]) -> list[Message]:
    """Return the stored messages. `pictures` contains the blobs of their pictures by address."""
    return [
        Message(
            role=message["role"],
            content=message["content"],
            pictures=tuple(Picture(**picture | {"data": pictures[picture["data"]]}) for picture in message["pictures"]),
            seq=number,
        )
        for number, message in enumerate(json.loads(text), 1)
    ]


def dump_tools(tools: Sequence[ToolSpec]) -> str:
    """Return a tool list as stored: the order of tools and the order of names in schemas are preserved."""
    rows = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools]
    return orjson.dumps(rows).decode()


def load_tools(text: str) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(**row) for row in orjson.loads(text))

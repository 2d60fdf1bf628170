"""What a server answered, as a result: texts for the model, pictures and files in the workspace."""

import base64
import binascii
import json
import mimetypes
import secrets
from collections.abc import Mapping
from typing import Any

from tools_app.contract.base import ToolResult
from tools_app.errors import ToolError
from tools_app.files.paths import RESULTS
from tools_app.files.workspace import Workspace


def result_of(answer: Mapping[str, Any], workspace: Workspace) -> ToolResult:
    words: list[str] = []
    images: list[str] = []
    for part in answer.get("content") or ():
        _read(part, words, images, workspace)
    if not words and not images and answer.get("structuredContent") is not None:
        words.append(json.dumps(answer["structuredContent"], ensure_ascii=False))
    return ToolResult(
        content="\n".join(words), images=images, status="failed" if answer.get("isError") else "succeeded"
    )


def _read(part: Mapping[str, Any], words: list[str], images: list[str], workspace: Workspace) -> None:
    kind, resource = part.get("type"), part.get("resource") or {}
    if kind == "text":
        words.append(str(part.get("text", "")))
    elif kind == "resource" and "text" in resource:
        words.append(f"{resource.get('uri', '')}\n{resource['text']}")
    elif kind == "resource_link":
        words.append(f"{part.get('name', '')}: {part.get('uri', '')}")
    elif data := part.get("data") or resource.get("blob"):
        path = _kept(str(data), str(part.get("mimeType") or resource.get("mimeType") or ""), workspace)
        words.append(f"It is the file {path}.")
        if kind == "image":
            images.append(path)


def _kept(data: str, media_type: str, workspace: Workspace) -> str:
    path = f"{RESULTS}/{secrets.token_hex(6)}{mimetypes.guess_extension(media_type) or '.bin'}"
    try:
        workspace.write_bytes(path, base64.b64decode(data, validate=True))
    except binascii.Error as error:
        raise ToolError("The server's answer holds a file that cannot be read.") from error
    return path

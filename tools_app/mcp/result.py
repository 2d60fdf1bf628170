"""The result of a call as the model reads it. A part that cannot be delivered costs only itself, and is named."""

import base64
import json
import mimetypes
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from tools_app.contract import ToolResult
from tools_app.errors import ToolError
from tools_app.files import RESULTS, Workspace
from tools_app.paging import size

_EXTENSIONS = {
    "audio/wav": ".wav",
    "audio/mp3": ".mp3",
    "audio/ogg": ".ogg",
    "image/jpg": ".jpg",
    "image/webp": ".webp",
}
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_MAX_PART = 2000  # characters of a part of an unknown kind


def result_of(answer: Mapping[str, Any], workspace: Workspace, page_bytes: int) -> ToolResult:
    """Return the result of the child's answer. Data over one page is indented, so that each page ends after a value."""
    result = answer["result"]
    if "content" not in result and isinstance(result.get("toolResult"), dict):  # of the revision 2024-10-07
        result = {**result, **result["toolResult"]}
    texts: list[str] = []
    images: list[str] = []
    notes = [str(note) for note in answer.get("notes", ())]
    # A part of the type "error" is that of github.com/QuantGeekDev/mcp-framework/pull/130.
    is_error = result.get("isError") in (True, "true")
    for part in _parts(result.get("content")):
        is_error = is_error or (isinstance(part, dict) and part.get("type") == "error")
        _add_part(part, texts, images, notes, workspace)
    structured = result.get("structuredContent")
    if not any(texts) and not images and structured is not None:
        data = json.dumps(structured, ensure_ascii=False)
        fits = size(data) <= page_bytes
        texts = [data if fits else json.dumps(structured, ensure_ascii=False, indent=1)]
    if not texts and not images and not {"content", "structuredContent"} & result.keys():
        known = {"isError", "_meta", "resultType", "ttlMs", "cacheScope"}
        if rest := {name: value for name, value in result.items() if name not in known}:
            texts.append(json.dumps(rest, ensure_ascii=False))
    return ToolResult(
        content="\n".join(texts),
        images=images,
        notes=notes,
        status="failed" if is_error else "succeeded",
    )


def _parts(content: Any) -> Iterable[Any]:
    """Return the parts of the content. Servers also send a single part, or a text."""
    if isinstance(content, list):
        return content
    return () if content is None else (content,)


def _add_part(part: Any, texts: list[str], images: list[str], notes: list[str], workspace: Workspace) -> None:
    """Add a part to the texts and images, or a note why it is missing. Files are stored in the workspace."""
    if not isinstance(part, dict):
        texts.append(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False))
        return
    kind, resource = part.get("type"), part.get("resource")
    resource = resource if isinstance(resource, dict) else {}
    if data := part.get("data") or part.get("blob") or resource.get("blob"):
        media_type = str(part.get("mimeType") or resource.get("mimeType") or "")
        uri = str(resource.get("uri", ""))
        _add_file(data, media_type, uri, kind == "image", texts, images, notes, workspace)
    elif isinstance(part.get("text"), str):
        texts.append(part["text"])
    elif isinstance(resource.get("text"), str):
        texts.append(f"{resource.get('uri', '')}\n{resource['text']}".lstrip("\n"))
    elif kind == "resource_link":
        words = [str(part[name]) for name in ("title", "description") if part.get(name)]
        link = f"{part.get('name', '')}: {part.get('uri', '')}"
        texts.append(" — ".join([link, *words]))
    elif kind == "text":
        texts.append("" if part.get("text") is None else str(part["text"]))
    else:
        shown = json.dumps(part, ensure_ascii=False)
        cut = "" if len(shown) <= _MAX_PART else f" Its first {_MAX_PART} characters are shown."
        texts.append(shown[:_MAX_PART])
        notes.append(f"[A part of this result is of the kind {str(kind)[:50]!r}, which is not known here.{cut}]")


def _add_file(
    data: Any,
    media_type: str,
    uri: str,
    is_image: bool,
    texts: list[str],
    images: list[str],
    notes: list[str],
    workspace: Workspace,
) -> None:
    text = str(data)
    if text.startswith("data:"):  # an address of the kind that browsers show instead of the bare data
        declared, _, text = text.partition(",")
        media_type = media_type or declared.removeprefix("data:").partition(";")[0]
    media_type = media_type.partition(";")[0].strip().lower()
    extension = mimetypes.guess_extension(media_type) or _EXTENSIONS.get(media_type, ".bin")
    path = f"{RESULTS}/{secrets.token_hex(6)}{extension}"
    try:
        content = base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        notes.append(f"[A file of this result{f' ({media_type})' if media_type else ''} could not be read.]")
        return
    try:
        workspace.write_bytes(path, content)
    except ToolError as error:
        notes.append(f"[A file of this result could not be stored. {error}]")
        return
    texts.append(f"{uri} is the file {path}." if uri else f"It is the file {path}.")
    if is_image or media_type in _PICTURES:
        images.append(path)

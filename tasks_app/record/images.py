"""The pictures of an entry, encoded once before it is appended and saved as blobs that the entry references.

No picture is decoded in this process. Decoders are the part that hostile bytes attack, and a small file may expand to
many pixels.
"""

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import connection

from llm_app.models import Blob
from llm_app.types import Picture
from tasks_app.models import ContextEntry
from tasks_app.runtime import event_loop
from tools_app.child_process import ChildLimits, NoAnswer, answer_of
from tools_app.errors import ToolError
from tools_app.files import Workspace, convertible_type

MAX_PICTURES = 10  # pictures per entry
MAX_FILE_BYTES = 20 * 1000**2  # bytes
_CONCURRENT_FILES = 4  # files in memory at a time
_CACHE_CHARS = 16 * 1000**2  # characters of base64 in the cache
_cache: dict[str, Picture] = {}  # by the hash of the file, least recently used first
_LIMITS = ChildLimits(wall_s=20, cpu_s=10, memory=512 * 1024**2)  # 16 million pixels take 0.2 to 0.3 GB

logger = logging.getLogger(__name__)


class PictureError(Exception):
    """The message says why, in words for the model."""


@dataclass(frozen=True, kw_only=True)
class StoredPicture:
    """A saved picture. `sha256` is the key of its blob, which holds base64; `path` is where the file was."""

    sha256: str
    media_type: str
    path: str
    width: int
    height: int


async def encode(name: str, data: bytes) -> Picture:
    """Return the picture in the form that models accept. Raises PictureError.

    Encoding takes 0.1 s in a child process; recent results are cached by the hash of the file. Runs on the event loop.
    """
    digest = (await asyncio.to_thread(hashlib.sha256, data)).hexdigest()
    if cached := _cache.pop(digest, None):
        _cache[digest] = cached  # most recently used
        return replace(cached, path=name)
    try:
        answer = await answer_of("llm_app.pictures", {}, data, _LIMITS)
    except NoAnswer as error:
        raise PictureError("it takes too much time or memory") from error
    if "fault" in answer:
        raise PictureError(answer["fault"])
    _cache[digest] = picture = Picture(path=name, **answer["picture"])
    while sum(len(entry.data) for entry in _cache.values()) > _CACHE_CHARS:
        del _cache[next(iter(_cache))]
    return picture


def store(workspace: Workspace, paths: Sequence[str]) -> tuple[list[StoredPicture], list[str]]:
    """Save the pictures at `paths`. Return them, and one line for each picture that cannot be shown.

    Never call it on the event loop, which it waits for.
    """
    if not paths:
        return [], []
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()  # a waiting thread must not hold a pooled connection
    results = event_loop.submit(_read(workspace, paths[:MAX_PICTURES])).result()
    pictures = [_stored(picture) for picture in results if isinstance(picture, Picture)]
    faults = [fault for fault in results if isinstance(fault, str)]
    faults += [f"[{path} is not shown: at most {MAX_PICTURES} pictures at once]" for path in paths[MAX_PICTURES:]]
    return pictures, faults


def store_attachments(workspace: Workspace, paths: Iterable[str]) -> list[StoredPicture]:
    """Save the attachments that are pictures. A damaged picture counts as any other file: the model reads its path."""
    pictures, faults = store(workspace, [path for path in paths if _is_picture(workspace, path)])
    for fault in faults:
        logger.info("attachment %s", fault)
    return pictures


def contents(entries: Iterable[ContextEntry]) -> Mapping[str, str]:
    """Return the base64 contents of the entries' pictures by blob key."""
    addresses = {picture["sha256"] for entry in entries for picture in entry.pictures}
    return {blob.sha256: blob.content for blob in Blob.objects.filter(pk__in=addresses)} if addresses else {}


async def _read(workspace: Workspace, paths: Sequence[str]) -> list[Picture | str]:
    """Return the picture at each path, or a line that says why it cannot be shown."""
    semaphore = asyncio.Semaphore(_CONCURRENT_FILES)

    async def read(path: str) -> Picture | str:
        async with semaphore:
            try:
                return await encode(path, await asyncio.to_thread(workspace.read_bytes, path, MAX_FILE_BYTES))
            except (ToolError, PictureError) as error:
                return f"[{path} cannot be shown: {error}]"

    return await asyncio.gather(*map(read, paths))


def _stored(picture: Picture) -> StoredPicture:
    return StoredPicture(
        sha256=Blob.store(picture.data),
        media_type=picture.media_type,
        path=picture.path,
        width=picture.width,
        height=picture.height,
    )


def _is_picture(workspace: Workspace, path: str) -> bool:
    try:
        with workspace.open_for_read(path) as file:
            return bool(convertible_type(file))
    except ToolError:
        return False

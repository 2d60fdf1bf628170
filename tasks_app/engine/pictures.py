"""The pictures of an entry: encoded once, before it is appended, and kept as blobs that the entry names."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from llm_app import pictures
from llm_app.models import Blob
from llm_app.pictures import UnreadablePicture
from tasks_app.models import ContextEntry
from tools_app.errors import ToolError
from tools_app.picture_type import picture_type
from tools_app.workspace import Workspace

MOST = 10  # pictures of one entry
LARGEST_FILE = 20 * 1000**2  # bytes

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class KeptPicture:
    """`sha256` is the address of the blob, whose content is base64; `path` is where the file stood."""

    sha256: str
    media_type: str
    path: str
    width: int
    height: int


def keep(workspace: Workspace, paths: Sequence[str]) -> tuple[list[KeptPicture], list[str]]:
    """The pictures at `paths`, stored; and a line for each that no model will see."""
    kept, faults = [], []
    for path in paths[:MOST]:
        try:
            kept.append(_kept(workspace, path))
        except (ToolError, UnreadablePicture) as error:
            faults.append(f"[{path} cannot be shown: {error}]")
    faults += [f"[{path} is not shown: at most {MOST} pictures at once]" for path in paths[MOST:]]
    return kept, faults


def of_attachments(workspace: Workspace, paths: Iterable[str]) -> list[KeptPicture]:
    """Those that are pictures. A damaged one is a file like any other: the model reads that it is attached."""
    kept, faults = keep(workspace, [path for path in paths if _is_picture(workspace, path)])
    for fault in faults:
        logger.info("attachment %s", fault)
    return kept


def contents(entries: Iterable[ContextEntry]) -> Mapping[str, str]:
    """What the blobs hold that `entries` name, by address."""
    addresses = {picture["sha256"] for entry in entries for picture in entry.pictures}
    return {blob.sha256: blob.content for blob in Blob.objects.filter(pk__in=addresses)} if addresses else {}


def _kept(workspace: Workspace, path: str) -> KeptPicture:
    encoded = pictures.encode(workspace.read_bytes(path, LARGEST_FILE))
    return KeptPicture(
        sha256=Blob.keep(encoded.data),
        media_type=encoded.media_type,
        path=path,
        width=encoded.width,
        height=encoded.height,
    )


def _is_picture(workspace: Workspace, path: str) -> bool:
    try:
        with workspace.open_for_read(path) as file:
            return bool(picture_type(file))
    except ToolError:
        return False

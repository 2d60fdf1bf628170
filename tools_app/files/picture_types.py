"""Recognizes pictures by their first bytes."""

from typing import BinaryIO

_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def picture_type(file: BinaryIO) -> str:
    """The media type of a PNG, JPEG, GIF or WebP; empty for anything else. The file is rewound."""
    head = file.read(12)
    file.seek(0)
    if head[:4] == b"RIFF" and head[8:] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS.items() if head.startswith(beginning)), "")
